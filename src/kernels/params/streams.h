#pragma once
// Parameters of the kernels of models whose residual stream is several: streams are mixed, scaled
// to one another and fed from one of them. And of activations that keep the largest of a row.

#include "kernels/operand.h"
#include "tensor/tensor.h"

namespace godwit {

/// out[j, t] = sum over i, in order, of mix[t, j, i] * x[i, t], + gain[t, j] * y[t].
/// Source: Baykal et al. 2023, "Alternating Updates for Efficient Transformers".
struct MixStreamsParams {
  Tensor x;       ///< [streams, tokens, width] f32
  Tensor mix{};   ///< [tokens, streams * streams] f32; empty: out[j, t] begins as x[j, t]
  Tensor y{};     ///< [tokens, width] f32; or empty, as gain
  Tensor gain{};  ///< [tokens, streams] f32
  Tensor out;     ///< as x; not x

  [[nodiscard]] Operands operands() const {
    return Operands().reads(x).reads(mix).reads(y).reads(gain).writes(out);
  }
};

/// out = x * sqrt(mean(target^2) / max(mean(x^2), minimum)) over the last axis: x, as large as the
/// target is. out may be x.
struct MatchSizeParams {
  Tensor x;       ///< [rows, width] f32
  Tensor target;  ///< as x
  Tensor out;     ///< as x
  float minimum = 0.0F;

  [[nodiscard]] Operands operands() const { return Operands().reads(x).reads(target).writes(out); }
};

/// out = x * factors, channel by channel. out may be x.
struct ScaleChannelsParams {
  Tensor x;        ///< [rows, width] f32
  Tensor factors;  ///< [width] f32, f16 or bf16
  Tensor out;      ///< as x

  [[nodiscard]] Operands operands() const { return Operands().reads(x).reads(factors).writes(out); }
};

/// out = max(x - (mean(x) + deviations * deviation(x)), 0) over the last axis, the deviation being
/// that of the whole population: what is left of a row is its largest part. out may be x.
/// Source: Gemma 3n's published code.
struct KeepLargestParams {
  Tensor x;    ///< [rows, width] f32
  Tensor out;  ///< as x
  float deviations = 0.0F;

  [[nodiscard]] Operands operands() const { return Operands().reads(x).writes(out); }
};

}  // namespace godwit
