#pragma once
// Rotary position embedding: the rule that gives each pair of channels its frequency, and the table
// of cosines and sines made from it once.

#include <cstdint>
#include <functional>
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

/// theta grown to theta * alpha^(rotary_dim / (rotary_dim - 2)): "NTK-aware" scaling. Source:
/// Hunyuan's published code.
struct NtkRope {
  double alpha = 1.0;
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

/// Low frequencies divided by `factor`, high ones kept, a ramp between, whose ends are where a pair
/// turns `beta_fast` and `beta_slow` times in the original context.
/// Source: Peng et al. 2023, "YaRN: Efficient Context Window Extension of Large Language Models".
struct YarnRope {
  double factor = 1.0;
  double beta_fast = 32.0;
  double beta_slow = 1.0;
  double original_max_positions = 4096.0;
  bool truncate = true;           ///< Whether the ends are rounded outwards to whole pairs.
  double attention_factor = 1.0;  ///< Multiplies cosines and sines.
};

/// YaRN's rule for how much longer contexts sharpen attention.
double yarn_attention_factor(double factor, double mscale = 1.0);

/// Each frequency divided by a factor of its own; of two lists, the long one where the server's
/// longest context exceeds the original one. (Hugging Face's code looks at the current length
/// instead, so that its cached keys no longer fit once a text crosses the border.)
/// Source: Ding et al. 2024, "LongRoPE", and Phi-3's published code.
struct LongRope {
  std::vector<float> short_factors;  ///< [rotary_dim / 2]
  std::vector<float> long_factors;   ///< [rotary_dim / 2]
  std::int64_t original_max_positions = 4096;
  double short_attention_factor = 1.0;  ///< Multiplies cosines and sines.
  double long_attention_factor = 1.0;
};

/// The first `pairs` pairs turn as DefaultRope's, divided by `factor`, the others not at all: a
/// part of a head is rotated, and the pairs are yet those of the whole head. Source: Gemma 4's
/// published code.
struct ProportionalRope {
  std::int64_t pairs = 0;
  double factor = 1.0;
};

using RopeScaling = std::variant<DefaultRope, LinearRope, NtkRope, Llama3Rope, FactorsRope,
                                 YarnRope, LongRope, ProportionalRope>;

struct RopeConfig {
  double theta = 10000.0;
  std::int64_t rotary_dim = 0;  ///< Even, at most head_dim.
  RopeScaling scaling;
  bool interleaved = false;  ///< Pairs (2i, 2i + 1) instead of (i, i + rotary_dim / 2).
};

/// The frequency of each of the rotary_dim / 2 pairs, in radians a token, for contexts of at most
/// `max_positions`.
std::vector<float> rope_frequencies(const RopeConfig& config, std::int64_t max_positions);

struct Rotary {
  Tensor cos_sin;  ///< [max_positions, rotary_dim] f32; empty for models that rotate nothing
  bool interleaved = false;

  /// Computes the table into the reader's store.
  static Result<Rotary> create(WeightsReader& reader, const RopeConfig& config,
                               std::int64_t max_positions);

  /// A table that multiplies all `width` channels of a head by scale(position) and rotates nothing.
  static Result<Rotary> create_scaling(WeightsReader& reader, std::int64_t width,
                                       std::int64_t max_positions,
                                       const std::function<float(std::int64_t)>& scale);

  /// Rotates x [tokens, heads, head_dim] in place.
  Status forward(const Context& context, Tensor& x) const;
};

}  // namespace godwit
