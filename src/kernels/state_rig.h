#pragma once
// Steps and states for the tests of kernels that carry a state from token to token. Test code only.

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/kernel_rig.h"
#include "kernels/params/recurrent.h"

namespace godwit {

/// One sequence's share of a step: tokens [begin, end) of it, from the state at `source`; saved are
/// the states before some of its tokens and, last, after all.
struct Share {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int32_t source = -1;
  std::vector<std::pair<std::int64_t, std::int32_t>> saves{};  ///< (token, place), rising
};

/// The tables of a step.
struct Step {
  explicit Step(const std::vector<Share>& shares) {
    for (const Share& share : shares) {
      const std::int32_t offset = query_start.back() - static_cast<std::int32_t>(share.begin);
      for (const auto& [token, place] : share.saves) {
        save_ends.push_back(static_cast<std::int32_t>(token) + offset);
        save_places.push_back(place);
      }
      query_start.push_back(static_cast<std::int32_t>(share.end) + offset);
      save_start.push_back(static_cast<std::int32_t>(save_ends.size()));
      sources.push_back(share.source);
    }
  }
  [[nodiscard]] static Tensor list(std::vector<std::int32_t>& values) {
    return view(values, DType::kI32, {static_cast<std::int64_t>(values.size())});
  }
  [[nodiscard]] StateTables tables() {
    return {.sources = list(sources),
            .save_start = list(save_start),
            .save_ends = list(save_ends),
            .save_places = list(save_places)};
  }

  std::vector<std::int32_t> query_start = {0};
  std::vector<std::int32_t> sources;
  std::vector<std::int32_t> save_start = {0};
  std::vector<std::int32_t> save_ends;
  std::vector<std::int32_t> save_places;
};

/// Places of states that overlap as views, as in the cache: a place is `unit` numbers from the
/// next, and states are kept every few places. All is NaN at first.
struct States {
  States(std::int64_t size, std::int64_t count)
      : unit(16),
        each((size + unit - 1) / unit),
        data(static_cast<std::size_t>(each * unit * (count + 1)),
             std::numeric_limits<float>::quiet_NaN()) {}

  [[nodiscard]] std::int32_t place(std::int64_t number) const {
    return static_cast<std::int32_t>(number * each);
  }
  [[nodiscard]] Tensor tensor(std::int64_t heads, std::int64_t rows, std::int64_t columns) {
    const std::int64_t places =
        (static_cast<std::int64_t>(data.size()) - heads * rows * columns) / unit + 1;
    Tensor all = view(data, DType::kF32, {places, heads, rows, columns});
    all.strides[0] = unit;
    return all;
  }
  /// The states of a convolution.
  [[nodiscard]] Tensor conv(std::int64_t channels, std::int64_t inputs) {
    const std::int64_t places =
        (static_cast<std::int64_t>(data.size()) - channels * inputs) / unit + 1;
    Tensor all = view(data, DType::kF32, {places, channels, inputs});
    all.strides[0] = unit;
    return all;
  }
  [[nodiscard]] std::vector<float> state(std::int64_t number, std::int64_t size) const {
    const auto* begin = data.data() + number * each * unit;
    return {begin, begin + size};
  }

  std::int64_t unit;
  std::int64_t each;  ///< Units.
  std::vector<float> data;
};

}  // namespace godwit
