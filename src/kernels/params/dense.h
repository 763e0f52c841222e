#pragma once
// Parameters of the kernels that work on rows of activations. Activations are f32; what a params
// struct holds by value is part of a graph's key, what changes between two steps of one shape is
// read from tensors. Innermost dimensions are contiguous, other strides are free, unless said.

#include "kernels/operand.h"
#include "tensor/tensor.h"

namespace godwit {

/// How a matrix product treats its f32 inputs.
enum class Precision : std::uint8_t {
  kExact,  ///< f32 inputs times weights widened or dequantised exactly, sums in f32.
  kFast,   ///< Inputs rounded to what the weights pair with: bf16 for bf16 weights, blocks of 32
           ///< signed bytes with an f32 scale for quantised weights; sums in f32. Else as kExact.
};

/// out[t] = table[ids[t]], widened to f32, or out[t] += table[ids[t]]. An id outside the table
/// gives zeros.
struct EmbeddingParams {
  Tensor table;  ///< [vocab, width], f32, f16, bf16 or quantised
  Tensor ids;    ///< [tokens] i32
  Tensor out;    ///< [tokens, width] f32
  bool accumulate = false;

  [[nodiscard]] Operands operands() const {
    Operands operands;
    operands.add({.tensor = table, .access = Access::kRead, .indices = ids, .axis = 0}).reads(ids);
    return accumulate ? operands.updates(out) : operands.writes(out);
  }
};

/// out = x / sqrt(mean(x^2) + epsilon) * (weight + weight_offset) over the last axis. out may be x.
/// Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization".
struct RmsNormParams {
  Tensor x;       ///< [rows, width] or [rows, heads, width] f32
  Tensor weight;  ///< [width] f32, f16 or bf16
  Tensor out;     ///< as x
  float epsilon = 0.0F;
  float weight_offset = 0.0F;  ///< 1 for models that store their scales less 1.

  [[nodiscard]] Operands operands() const { return Operands().reads(x).reads(weight).writes(out); }
};

/// out = (x - mean(x)) / sqrt(variance(x) + epsilon) * (weight + weight_offset) + bias over the
/// last axis; the variance is that of the whole population. out may be x. Source: Ba et al. 2016,
/// "Layer Normalization".
struct LayerNormParams {
  Tensor x;       ///< [rows, width] or [rows, heads, width] f32
  Tensor weight;  ///< [width] f32, f16 or bf16
  Tensor bias;    ///< as weight, with a type of its own; or empty
  Tensor out;     ///< as x
  float epsilon = 0.0F;
  float weight_offset = 0.0F;  ///< 1 for models that store their scales less 1.

  [[nodiscard]] Operands operands() const {
    return Operands().reads(x).reads(weight).reads(bias).writes(out);
  }
};

/// out = x W^T + bias, or out += x W^T + bias.
///
/// Each element of out depends on its row of x and its row of W alone, bit for bit: not on the
/// number of rows, on the threads or on where a tile begins.
struct GemmParams {
  Tensor x;       ///< [rows, k] f32
  Tensor weight;  ///< [n, k], contiguous; f32, f16, bf16 or quantised
  Tensor bias;    ///< [n] f32, f16 or bf16; or empty
  Tensor out;     ///< [rows, n] f32
  /// [k] i32, each of 0 to k - 1 once, contiguous: column i of the weight belongs to column
  /// input_order[i] of x. Or empty.
  Tensor input_order = {};
  bool accumulate = false;
  Precision precision = Precision::kExact;

  [[nodiscard]] Operands operands() const {
    Operands operands;
    operands.reads(x).reads(weight).reads(bias).reads(input_order);
    return accumulate ? operands.updates(out) : operands.writes(out);
  }
};

/// The functions between the two linear maps of a feed-forward block, and of gates. Errors are
/// those of the CPU's vector kernels against exact arithmetic on the same f32 input.
enum class Activation : std::uint8_t {
  kSilu,         ///< x / (1 + exp(-x)); within 5e-7 |x|.
  kGeluTanh,     ///< x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))); within 5e-7 |x|.
                 ///< Also called gelu_new, gelu_fast and gelu_pytorch_tanh.
  kGelu,         ///< x * (1 + erf(x / sqrt(2))) / 2; within 5e-7 |x|.
  kRelu,         ///< max(x, 0)
  kReluSquared,  ///< max(x, 0)^2
  kQuickGelu,    ///< x / (1 + exp(-1.702 x)); within 5e-7 |x|.
  kSigmoid,      ///< 1 / (1 + exp(-x)); within 5e-7. What opens gates.
};
inline constexpr int kActivations = 7;

/// out = activation(x). out may be x.
/// Sources: Hendrycks and Gimpel 2016, "Gaussian Error Linear Units"; So et al. 2021, "Primer:
/// Searching for Efficient Transformers" (relu squared).
struct ActivationParams {
  Tensor x;    ///< [rows, width] f32
  Tensor out;  ///< as x
  Activation activation = Activation::kSilu;

  [[nodiscard]] Operands operands() const { return Operands().reads(x).writes(out); }
};

/// How a gate and what it gates are multiplied: activation(gate) * (up + up_offset). With a limit,
/// the gate is first clamped from above, and up from both sides.
/// Sources: Shazeer 2020, "GLU Variants Improve Transformer"; the model card of gpt-oss (limit and
/// offset).
struct GatedForm {
  Activation activation = Activation::kSilu;
  float limit = 0.0F;  ///< 0 = none.
  float up_offset = 0.0F;
};

/// out = form(gate, up). out may be gate or up.
struct GatedActivationParams {
  Tensor gate;  ///< [rows, width] f32
  Tensor up;    ///< as gate
  Tensor out;   ///< as gate
  GatedForm form{};

  [[nodiscard]] Operands operands() const { return Operands().reads(gate).reads(up).writes(out); }
};

/// out += scale * x.
struct AddParams {
  Tensor x;    ///< [rows, width] f32
  Tensor out;  ///< as x
  float scale = 1.0F;

  [[nodiscard]] Operands operands() const { return Operands().reads(x).updates(out); }
};

/// out = softcap(scale * x), with softcap(s) = cap * tanh(s / cap). out may be x.
struct ScaleParams {
  Tensor x;    ///< [rows, width] f32
  Tensor out;  ///< as x
  float scale = 1.0F;
  float softcap = 0.0F;  ///< 0 = none.

  [[nodiscard]] Operands operands() const { return Operands().reads(x).writes(out); }
};

/// out = x clamped to [-limit, limit]; NaN stays. out may be x.
struct ClampParams {
  Tensor x;    ///< [rows, width] f32
  Tensor out;  ///< as x
  float limit = 0.0F;

  [[nodiscard]] Operands operands() const { return Operands().reads(x).writes(out); }
};

/// out[r] = x[rows[r]]. An index outside x gives zeros.
struct GatherRowsParams {
  Tensor x;     ///< [n, width] f32
  Tensor rows;  ///< [r] i32
  Tensor out;   ///< [r, width] f32

  [[nodiscard]] Operands operands() const {
    return Operands()
        .add({.tensor = x, .access = Access::kRead, .indices = rows, .axis = 0})
        .reads(rows)
        .writes(out);
  }
};

}  // namespace godwit
