#include "runner/testing/golden.h"

#include <algorithm>
#include <cmath>

namespace godwit::test {

std::vector<TokenId> to_ids(const Json& list) {
  std::vector<TokenId> ids;
  for (const Json& id : list.as_array()) {
    ids.push_back(static_cast<TokenId>(*id.to_int64()));
  }
  return ids;
}

TokenId argmax(const std::vector<float>& logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double logprob(const std::vector<float>& logits, TokenId id) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) {
    sum += std::exp(logit - largest);
  }
  return logits[static_cast<std::size_t>(id)] - largest - std::log(sum);
}

}  // namespace godwit::test
