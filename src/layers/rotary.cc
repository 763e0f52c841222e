#include "layers/rotary.h"

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

}  // namespace

std::vector<float> rope_frequencies(const RopeConfig& config) {
  const std::int64_t pairs = config.rotary_dim / 2;
  std::vector<float> frequencies(static_cast<std::size_t>(pairs));
  for (std::int64_t i = 0; i < pairs; ++i) {
    // In f32, as Hugging Face computes it: at long contexts the rounding shows in the angles.
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(config.rotary_dim);
    const float base = 1.0F / std::pow(static_cast<float>(config.theta), exponent);
    frequencies[static_cast<std::size_t>(i)] = std::visit(
        Overloaded{
            [&](const DefaultRope&) { return base; },
            [&](const LinearRope& rope) { return base / static_cast<float>(rope.factor); },
            [&](const Llama3Rope& rope) { return scale_llama3(base, rope); },
            [&](const FactorsRope& rope) {
              return base / rope.factors[static_cast<std::size_t>(i)];
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
  const std::vector<float> frequencies = rope_frequencies(config);
  std::vector<float> table;
  table.reserve(static_cast<std::size_t>(rotary.cos_sin.elements()));
  for (std::int64_t position = 0; position < max_positions; ++position) {
    for (const float frequency : frequencies) {
      table.push_back(std::cos(static_cast<float>(position) * frequency));
    }
    for (const float frequency : frequencies) {
      table.push_back(std::sin(static_cast<float>(position) * frequency));
    }
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
