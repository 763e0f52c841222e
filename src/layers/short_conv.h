#pragma once
// A gated short convolution, the recurrent layer of LFM2.

#include <cstdint>
#include <string>

#include "base/status.h"
#include "kv/kv_cache_spec.h"
#include "layers/context.h"
#include "layers/linear.h"

namespace godwit {

struct ShortConvConfig {
  std::int64_t layer = 0;
  std::int64_t hidden_size = 0;
  std::int64_t taps = 0;  ///< Tokens that an output reads, its own included.
  bool has_bias = false;
};

/// out = o(c * conv(b * x)), where (b, c, x) = in(input), channel by channel.
/// Source: Liquid AI 2025, LFM2's published code.
struct ShortConv {
  ShortConvConfig config;
  Linear in_proj;
  Tensor weight{};  ///< [hidden_size, taps]
  Tensor bias{};    ///< [hidden_size], or empty
  Linear out_proj;

  /// Reads `prefix`.in_proj, conv and out_proj.
  static Result<ShortConv> load(WeightsReader& reader, const std::string& prefix,
                                const ShortConvConfig& config);

  /// Adds to what `out` holds; the inputs that the next tokens read go to this layer's states.
  /// Shapes: x and out [tokens, hidden_size].
  Status forward_add(const Context& context, const Tensor& x, Tensor& out) const;
};

/// What such a layer stores.
LayerCacheSpec cache_spec_of(const ShortConvConfig& config);

}  // namespace godwit
