#pragma once
// The routing rule for one token, in double precision, which host kernels of all kinds share: it
// costs little beside the experts, and what it decides must not depend on the instruction set.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/params/moe.h"

namespace godwit {

/// The rule with the memory it needs; one a thread.
class RowRouter {
 public:
  /// `bias` and `factors` have one number for each expert, or none. The spans must outlive the
  /// router.
  RowRouter(const RouteRule& rule, std::int64_t experts, std::span<const float> bias,
            std::span<const float> factors);

  /// Chooses `ids.size()` experts, at most as many as there are, and their weights.
  void choose(const float* logits, std::span<std::int32_t> ids, std::span<float> weights);
  /// Only the weights of experts chosen before; an id that is no expert gets 0.
  void weigh(const float* logits, std::span<const std::int32_t> ids, std::span<float> weights);

 private:
  void set_scores(const float* logits);
  void set_choices();
  void drop_groups();
  void take_best(std::span<std::int32_t> ids);
  void mix_sparsely(std::span<std::int32_t> ids);
  void set_chosen(std::span<const std::int32_t> ids);
  void finish(std::span<const std::int32_t> ids, std::span<float> weights);

  const RouteRule& rule_;
  std::span<const float> bias_;
  std::span<const float> factors_;
  std::vector<double> logits_;
  std::vector<double> scores_;
  std::vector<double> choices_;    // What the best is chosen by; never NaN.
  std::vector<std::uint8_t> out_;  // Taken, or of a group that is out.
  std::vector<double> group_choices_;
  std::vector<std::uint8_t> group_taken_;
  std::vector<double> chosen_;  // Weights, slot by slot.
};

}  // namespace godwit
