#pragma once
// What golden tests ask of logits and of recorded ids.

#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "base/json.h"

namespace godwit::test {

/// The ids of a JSON array.
std::vector<TokenId> to_ids(const Json& list);

/// The id of the largest logit.
TokenId argmax(const std::vector<float>& logits);

/// The logarithm of the probability that `logits` give to `id`.
double logprob(const std::vector<float>& logits, TokenId id);

}  // namespace godwit::test
