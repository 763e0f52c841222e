#pragma once
// min_p, top_k and top_p over a row of weights, without sorting the row.

#include <cstdint>

namespace godwit::cpu {

/// Weights of a row, in [0, 1], the largest being 1 until some are dropped. Dropped ones become 0.
///
/// A weight's upper bits name one of about 2000 bins; only the bin that holds the cut is looked at
/// weight by weight.
class WeightFilter {
 public:
  static std::int64_t scratch_bytes(std::int64_t count);
  /// `scratch` is scratch_bytes(count) bytes, aligned to 64.
  WeightFilter(void* scratch, std::int64_t count);

  /// To be filled before the calls below.
  [[nodiscard]] float* weights() { return weights_; }

  /// Drops weights below `fraction` of 1; nothing when it is <= 0.
  void drop_below(double fraction);
  /// Keeps the `k` largest, the lowest places among equals at the cut; nothing when k <= 0.
  void keep_largest(std::int64_t k);
  /// Keeps the smallest set of the largest whose sum reaches `fraction` of all, at least one;
  /// nothing when it is >= 1.
  void keep_mass(double fraction);

 private:
  struct Bin {
    double sum;
    std::int64_t count;
  };
  void fill_bins();
  /// Places of the weights of `bin`, in order; returns how many.
  std::int64_t list_bin(std::int64_t bin);
  /// Drops the bins below `bin`, and in `bin` the places listed from `kept` on.
  void cut(std::int64_t bin, std::int64_t kept, std::int64_t listed);

  std::int64_t count_;
  Bin* bins_;
  float* weights_;
  std::int32_t* places_;
};

}  // namespace godwit::cpu
