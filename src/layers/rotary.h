#pragma once
// Rotary position embedding: the rule that gives each pair of channels its frequency, and the table
// of cosines and sines made from it once.

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/status.h"
#include "layers/context.h"
#include "weights/weights_reader.h"

namespace godwit {

/// Frequencies theta^(-2i / rotary_dim). Source: Su et al. 2021, "RoFormer".
struct DefaultRope {};

/// Positions divided by `factor`. Source: Chen et al. 2023, "Extending Context Window of Large
/// Language Models via Position Interpolation".
struct LinearRope {
  double factor = 1.0;
};

/// Long wavelengths slowed down by `factor`, short ones kept, a ramp between.
/// Source: Llama 3.1's model card and reference code.
struct Llama3Rope {
  double factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  double original_max_positions = 8192.0;
};

/// Each frequency divided by a stored factor of its own, as GGUF files write what Llama3Rope gives.
struct FactorsRope {
  std::vector<float> factors;  ///< [rotary_dim / 2]
};

using RopeScaling = std::variant<DefaultRope, LinearRope, Llama3Rope, FactorsRope>;

struct RopeConfig {
  double theta = 10000.0;
  std::int64_t rotary_dim = 0;  ///< Even, at most head_dim.
  RopeScaling scaling;
  bool interleaved = false;  ///< Pairs (2i, 2i + 1) instead of (i, i + rotary_dim / 2).
};

/// The frequency of each of the rotary_dim / 2 pairs, in radians a token.
std::vector<float> rope_frequencies(const RopeConfig& config);

struct Rotary {
  Tensor cos_sin;  ///< [max_positions, rotary_dim] f32; empty for models that rotate nothing
  bool interleaved = false;

  /// Computes the table into the reader's store.
  static Result<Rotary> create(WeightsReader& reader, const RopeConfig& config,
                               std::int64_t max_positions);

  /// Rotates x [tokens, heads, head_dim] in place.
  Status forward(const Context& context, Tensor& x) const;
};

}  // namespace godwit
