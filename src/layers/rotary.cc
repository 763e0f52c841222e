#include "layers/rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "ops/attention.h"

namespace godwit {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

float ntk_frequency(float exponent, const RopeConfig& config, const NtkRope& rope) {
  const auto width = static_cast<double>(config.rotary_dim);
  const double theta = config.theta * std::pow(rope.alpha, width / (width - 2.0));
  return 1.0F / std::pow(static_cast<float>(theta), exponent);
}

float scale_llama3(float frequency, const Llama3Rope& rope) {
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  if (wavelength < rope.original_max_positions / rope.high_freq_factor) {
    return frequency;
  }
  if (wavelength > rope.original_max_positions / rope.low_freq_factor) {
    return static_cast<float>(frequency / rope.factor);
  }
  const double ramp = (rope.original_max_positions / wavelength - rope.low_freq_factor) /
                      (rope.high_freq_factor - rope.low_freq_factor);
  return static_cast<float>((1.0 - ramp) * frequency / rope.factor + ramp * frequency);
}

/// The pair, as a real number, that turns `turns` times in the original context.
double yarn_pair(double turns, const RopeConfig& config, const YarnRope& rope) {
  return static_cast<double>(config.rotary_dim) *
         std::log(rope.original_max_positions / (turns * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(config.theta));
}

float scale_yarn(float frequency, std::int64_t pair, const RopeConfig& config,
                 const YarnRope& rope) {
  double low = yarn_pair(rope.beta_fast, config, rope);
  double high = yarn_pair(rope.beta_slow, config, rope);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(config.rotary_dim - 1));
  if (low == high) {
    high += 0.001;
  }
  const double ramp = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
  return static_cast<float>(frequency / rope.factor * ramp + frequency * (1.0 - ramp));
}

float attention_factor(const RopeScaling& scaling, std::int64_t max_positions) {
  if (const auto* yarn = std::get_if<YarnRope>(&scaling)) {
    return static_cast<float>(yarn->attention_factor);
  }
  const auto* longer = std::get_if<LongRope>(&scaling);
  if (longer == nullptr) {
    return 1.0F;
  }
  return static_cast<float>(max_positions > longer->original_max_positions
                                ? longer->long_attention_factor
                                : longer->short_attention_factor);
}

}  // namespace

double yarn_attention_factor(double factor, double mscale) {
  return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

std::vector<float> rope_frequencies(const RopeConfig& config, std::int64_t max_positions) {
  const std::int64_t pairs = config.rotary_dim / 2;
  std::vector<float> frequencies(static_cast<std::size_t>(pairs));
  for (std::int64_t i = 0; i < pairs; ++i) {
    const auto at = static_cast<std::size_t>(i);
    // In f32, as Hugging Face computes it: at long contexts the rounding shows in the angles.
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(config.rotary_dim);
    const float power = std::pow(static_cast<float>(config.theta), exponent);
    const float base = 1.0F / power;
    frequencies[at] = std::visit(
        Overloaded{
            [&](const DefaultRope&) { return base; },
            [&](const LinearRope& rope) { return base / static_cast<float>(rope.factor); },
            [&](const NtkRope& rope) { return ntk_frequency(exponent, config, rope); },
            [&](const Llama3Rope& rope) { return scale_llama3(base, rope); },
            [&](const FactorsRope& rope) { return base / rope.factors[at]; },
            [&](const YarnRope& rope) { return scale_yarn(base, i, config, rope); },
            [&](const LongRope& rope) {
              const bool is_long = max_positions > rope.original_max_positions;
              return 1.0F / ((is_long ? rope.long_factors : rope.short_factors)[at] * power);
            },
            [&](const ProportionalRope& rope) {
              return i < rope.pairs ? base / static_cast<float>(rope.factor) : 0.0F;
            },
        },
        config.scaling);
  }
  return frequencies;
}

Result<Rotary> Rotary::create(WeightsReader& reader, const RopeConfig& config,
                              std::int64_t max_positions) {
  CHECK_EQ(config.rotary_dim % 2, 0);
  Rotary rotary;
  rotary.interleaved = config.interleaved;
  rotary.cos_sin = TRY(reader.allocate(DType::kF32, {max_positions, config.rotary_dim}));
  const std::vector<float> frequencies = rope_frequencies(config, max_positions);
  const float factor = attention_factor(config.scaling, max_positions);
  std::vector<float> table;
  table.reserve(static_cast<std::size_t>(rotary.cos_sin.elements()));
  for (std::int64_t position = 0; position < max_positions; ++position) {
    for (const float frequency : frequencies) {
      table.push_back(factor * std::cos(static_cast<float>(position) * frequency));
    }
    for (const float frequency : frequencies) {
      table.push_back(factor * std::sin(static_cast<float>(position) * frequency));
    }
  }
  TRY(reader.stream().copy_in(rotary.cos_sin.data, std::as_bytes(std::span(table))));
  return rotary;
}

Result<Rotary> Rotary::create_scaling(WeightsReader& reader, std::int64_t width,
                                      std::int64_t max_positions,
                                      const std::function<float(std::int64_t)>& scale) {
  CHECK_EQ(width % 2, 0);
  Rotary rotary;
  rotary.cos_sin = TRY(reader.allocate(DType::kF32, {max_positions, width}));
  std::vector<float> table(static_cast<std::size_t>(rotary.cos_sin.elements()), 0.0F);
  for (std::int64_t position = 0; position < max_positions; ++position) {
    std::fill_n(table.begin() + position * width, width / 2, scale(position));
  }
  TRY(reader.stream().copy_in(rotary.cos_sin.data, std::as_bytes(std::span(table))));
  return rotary;
}

Status Rotary::forward(const Context& context, Tensor& x) const {
  if (cos_sin.empty()) {
    return {};
  }
  return ops::rope(context.stream, {.x = x,
                                    .positions = context.attention.positions,
                                    .cos_sin = cos_sin,
                                    .interleaved = interleaved});
}

}  // namespace godwit
