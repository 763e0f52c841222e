// Kernels that carry a state from token to token. A thread walks all tokens of a sequence for a
// range of channels, so results do not depend on how the work is split.

#include <algorithm>
#include <cstring>

#include "kernels/cpu/access.h"
#include "kernels/cpu/drivers.h"

namespace godwit::cpu {
namespace {

/// Channels that a thread takes at once: few enough for the first cache, enough for whole lines.
constexpr std::int64_t kChannels = 64;

/// One sequence and a range of channels of a convolution. `inputs` is a ring of the last `taps`
/// inputs, a row of kChannels each.
class ConvTask {
 public:
  ConvTask(const CausalConvParams& params, const float* weight, const float* bias,
           std::int64_t first, float* inputs)
      : params_(params),
        channels_(params.x.dim(1)),
        taps_(params.weight.dim(1)),
        weight_(weight + first),
        bias_(bias == nullptr ? nullptr : bias + first),
        first_(first),
        count_(std::min(kChannels, channels_ - first)),
        inputs_(inputs) {}

  void run(std::int64_t sequence) {
    const StateTables& tables = params_.tables;
    const auto begin = element<std::int32_t>(params_.query_start, sequence);
    load(element<std::int32_t>(tables.sources, sequence));
    std::int64_t t = begin;
    const auto last = element<std::int32_t>(tables.save_start, sequence + 1);
    for (auto save = element<std::int32_t>(tables.save_start, sequence); save < last; ++save) {
      for (; t < element<std::int32_t>(tables.save_ends, save); ++t) {
        step(t);
      }
      store(element<std::int32_t>(tables.save_places, save));
    }
  }

 private:
  /// The input `age` tokens before the next one (1 is the last).
  float* input(std::int64_t age) { return inputs_ + (next_ + taps_ - age) % taps_ * kChannels; }

  void load(std::int32_t place) {
    next_ = 0;
    for (std::int64_t age = 1; age < taps_; ++age) {
      float* row = input(age);
      for (std::int64_t c = 0; c < count_; ++c) {
        row[c] = place < 0 ? 0.0F : state(place, c)[taps_ - 1 - age];
      }
    }
  }

  void store(std::int32_t place) {
    for (std::int64_t age = 1; age < taps_; ++age) {
      const float* row = input(age);
      for (std::int64_t c = 0; c < count_; ++c) {
        state(place, c)[taps_ - 1 - age] = row[c];
      }
    }
  }

  float* state(std::int32_t place, std::int64_t channel) {
    return row_of<float>(params_.states, place) + (first_ + channel) * params_.states.stride(1);
  }

  void step(std::int64_t t) {
    float* own = inputs_ + next_ * kChannels;
    const float* x = row_of<float>(params_.x, t) + first_;
    std::memcpy(own, x, static_cast<std::size_t>(count_) * sizeof(float));
    if (!params_.gate_in.empty()) {
      multiply(own, row_of<float>(params_.gate_in, t) + first_);
    }
    next_ = (next_ + 1) % taps_;
    float* out = row_of<float>(params_.out, t) + first_;
    for (std::int64_t c = 0; c < count_; ++c) {
      out[c] = bias_ == nullptr ? 0.0F : bias_[c];
    }
    for (std::int64_t i = 0; i < taps_; ++i) {
      const float* row = input(taps_ - i);
      const float* weight = weight_ + i * channels_;
      for (std::int64_t c = 0; c < count_; ++c) {
        out[c] += weight[c] * row[c];
      }
    }
    if (!params_.gate_out.empty()) {
      multiply(out, row_of<float>(params_.gate_out, t) + first_);
    }
  }

  void multiply(float* row, const float* by) const {
    for (std::int64_t c = 0; c < count_; ++c) {
      row[c] *= by[c];
    }
  }

  const CausalConvParams& params_;
  std::int64_t channels_;
  std::int64_t taps_;
  const float* weight_;  // [taps, channels]
  const float* bias_;
  std::int64_t first_;
  std::int64_t count_;
  float* inputs_;
  std::int64_t next_ = 0;  // Where the next input goes.
};

}  // namespace

Status causal_conv(const IsaKernels& isa, Stream& stream, const CausalConvParams& params) {
  const Workspace::Scope scope(stream.workspace());
  const std::int64_t channels = params.x.dim(1);
  const std::int64_t taps = params.weight.dim(1);
  const std::int64_t sequences = params.query_start.dim(0) - 1;
  const std::int64_t ranges = (channels + kChannels - 1) / kChannels;
  auto* stored = TRY(take<float>(stream, channels * taps));
  auto* weight = TRY(take<float>(stream, channels * taps));
  widen(isa, params.weight.dtype, params.weight.data, stored, channels * taps);
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < taps; ++i) {
      weight[i * channels + c] = stored[c * taps + i];
    }
  }
  float* bias = nullptr;
  if (!params.bias.empty()) {
    bias = TRY(take<float>(stream, channels));
    widen(isa, params.bias.dtype, params.bias.data, bias, channels);
  }
  auto* inputs = TRY(take<float>(stream, sequences * ranges * taps * kChannels));
  const std::int64_t elements = (params.x.dim(0) / sequences + 1) * kChannels * (taps + 2);
  split(stream, sequences * ranges, elements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      ConvTask(params, weight, bias, i % ranges * kChannels, inputs + i * taps * kChannels)
          .run(i / ranges);
    }
  });
  return {};
}

}  // namespace godwit::cpu
