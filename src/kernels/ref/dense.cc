// Embedding, norm, matrix product and the like.

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "kernels/ref/element.h"
#include "kernels/ref/ref_kernels.h"

namespace godwit::ref {
namespace {

/// One row of inputs as a fast matrix product sees it.
std::vector<double> rounded_row(const float* x, std::int64_t k, DType weight, Precision precision) {
  std::vector<double> row(x, x + k);
  if (precision == Precision::kExact || weight == DType::kF32 || weight == DType::kF16 ||
      (is_quantized(weight) && !has_integer_codes(weight))) {
    return row;
  }
  if (weight == DType::kBF16) {
    for (double& value : row) {
      value = static_cast<double>(bfloat_to_float(float_to_bfloat(static_cast<float>(value))));
    }
    return row;
  }
  for (std::int64_t begin = 0; begin < k; begin += 32) {
    float largest = 0.0F;
    for (std::int64_t i = begin; i < begin + 32; ++i) {
      largest = std::fmax(largest, std::fabs(x[i]));
    }
    const bool zero = largest < 1e-30F;
    const float inverse = zero ? 0.0F : 127.0F / largest;
    const float scale = zero ? 0.0F : largest / 127.0F;
    for (std::int64_t i = begin; i < begin + 32; ++i) {
      row[static_cast<std::size_t>(i)] =
          std::nearbyint(static_cast<double>(x[i]) * static_cast<double>(inverse)) *
          static_cast<double>(scale);
    }
  }
  return row;
}

void normalize(const RmsNormParams& params, const float* x, float* out) {
  const std::int64_t width = params.weight.dim(0);
  double sum = 0.0;
  for (std::int64_t i = 0; i < width; ++i) {
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  const double scale =
      1.0 / std::sqrt(sum / static_cast<double>(width) + static_cast<double>(params.epsilon));
  for (std::int64_t i = 0; i < width; ++i) {
    const double w =
        element(params.weight.dtype, static_cast<const std::byte*>(params.weight.data), i);
    out[i] = static_cast<float>(static_cast<double>(x[i]) * scale *
                                (w + static_cast<double>(params.weight_offset)));
  }
}

void normalize(const LayerNormParams& params, const float* x, float* out) {
  const std::int64_t width = params.weight.dim(0);
  const std::vector<double> row(x, x + width);
  double mean = 0.0;
  for (const double value : row) {
    mean += value;
  }
  mean /= static_cast<double>(width);
  double variance = 0.0;
  for (const double value : row) {
    variance += (value - mean) * (value - mean);
  }
  variance /= static_cast<double>(width);
  const double scale = 1.0 / std::sqrt(variance + static_cast<double>(params.epsilon));
  for (std::int64_t i = 0; i < width; ++i) {
    const double w =
        element(params.weight.dtype, static_cast<const std::byte*>(params.weight.data), i) +
        static_cast<double>(params.weight_offset);
    const double b =
        params.bias.empty()
            ? 0.0
            : element(params.bias.dtype, static_cast<const std::byte*>(params.bias.data), i);
    out[i] = static_cast<float>((row[static_cast<std::size_t>(i)] - mean) * scale * w + b);
  }
}

/// Calls normalize() for each head, or row, of x.
template <class Params>
Status normalize_rows(const Params& params) {
  const std::int64_t heads = params.x.rank == 3 ? params.x.dim(1) : 1;
  for (std::int64_t r = 0; r < params.x.dim(0); ++r) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t in = params.x.rank == 3 ? h * params.x.stride(1) : 0;
      const std::int64_t to = params.x.rank == 3 ? h * params.out.stride(1) : 0;
      normalize(params, float_row(params.x, r) + in, float_row(params.out, r) + to);
    }
  }
  return {};
}

/// NaN stays.
double clamped(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kSilu:
      return x / (1.0 + std::exp(-x));
    case Activation::kGeluTanh:
      return 0.5 * x *
             (1.0 + std::tanh(std::sqrt(2.0 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x)));
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::kRelu:
      return x < 0.0 ? 0.0 : x;
    case Activation::kReluSquared:
      return x < 0.0 ? 0.0 : x * x;
    case Activation::kQuickGelu:
      return x / (1.0 + std::exp(-1.702 * x));
    case Activation::kSigmoid:
      return 1.0 / (1.0 + std::exp(-x));
  }
  CHECK(false);
}

}  // namespace

Status embedding(Stream& /*stream*/, const EmbeddingParams& params) {
  const std::int64_t width = params.out.dim(1);
  for (std::int64_t t = 0; t < params.out.dim(0); ++t) {
    const std::int64_t id = at<std::int32_t>(params.ids, t);
    const bool known = id >= 0 && id < params.table.dim(0);
    float* out = float_row(params.out, t);
    for (std::int64_t i = 0; i < width; ++i) {
      const float value =
          known ? static_cast<float>(element(params.table.dtype, row_data(params.table, id), i))
                : 0.0F;
      out[i] = params.accumulate ? out[i] + value : value;
    }
  }
  return {};
}

Status rms_norm(Stream& /*stream*/, const RmsNormParams& params) {
  return normalize_rows(params);
}

Status layer_norm(Stream& /*stream*/, const LayerNormParams& params) {
  return normalize_rows(params);
}

/// Row `row` of x in the order of the weight's columns.
std::vector<float> ordered_row(const GemmParams& params, std::int64_t row) {
  const float* x = float_row(params.x, row);
  std::vector<float> ordered(x, x + params.x.dim(1));
  for (std::size_t i = 0; !params.input_order.empty() && i < ordered.size(); ++i) {
    ordered[i] = x[at<std::int32_t>(params.input_order, static_cast<std::int64_t>(i))];
  }
  return ordered;
}

Status gemm(Stream& /*stream*/, const GemmParams& params) {
  const std::int64_t k = params.x.dim(1);
  for (std::int64_t r = 0; r < params.x.dim(0); ++r) {
    const std::vector<double> x =
        rounded_row(ordered_row(params, r).data(), k, params.weight.dtype, params.precision);
    float* out = float_row(params.out, r);
    for (std::int64_t n = 0; n < params.weight.dim(0); ++n) {
      const std::byte* w = row_data(params.weight, n);
      double sum = 0.0;
      for (std::int64_t i = 0; i < k; ++i) {
        sum += x[static_cast<std::size_t>(i)] * element(params.weight.dtype, w, i);
      }
      if (!params.bias.empty()) {
        sum += element(params.bias.dtype, row_data(params.bias, n), 0);
      }
      out[n] = static_cast<float>(params.accumulate ? sum + static_cast<double>(out[n]) : sum);
    }
  }
  return {};
}

Status activation(Stream& /*stream*/, const ActivationParams& params) {
  for (std::int64_t r = 0; r < params.out.dim(0); ++r) {
    for (std::int64_t i = 0; i < params.out.dim(1); ++i) {
      float_row(params.out, r)[i] = static_cast<float>(
          activate(params.activation, static_cast<double>(float_row(params.x, r)[i])));
    }
  }
  return {};
}

Status gated_activation(Stream& /*stream*/, const GatedActivationParams& params) {
  for (std::int64_t r = 0; r < params.out.dim(0); ++r) {
    const float* gate = float_row(params.gate, r);
    const float* up = float_row(params.up, r);
    float* out = float_row(params.out, r);
    for (std::int64_t i = 0; i < params.out.dim(1); ++i) {
      constexpr double kNone = std::numeric_limits<double>::infinity();
      const double limit =
          params.form.limit > 0.0F ? static_cast<double>(params.form.limit) : kNone;
      const double g = clamped(static_cast<double>(gate[i]), -kNone, limit);
      const double u = clamped(static_cast<double>(up[i]), -limit, limit) +
                       static_cast<double>(params.form.up_offset);
      out[i] = static_cast<float>(activate(params.form.activation, g) * u);
    }
  }
  return {};
}

Status add(Stream& /*stream*/, const AddParams& params) {
  for (std::int64_t r = 0; r < params.out.dim(0); ++r) {
    const float* x = float_row(params.x, r);
    float* out = float_row(params.out, r);
    for (std::int64_t i = 0; i < params.out.dim(1); ++i) {
      out[i] = static_cast<float>(static_cast<double>(out[i]) +
                                  static_cast<double>(params.scale) * static_cast<double>(x[i]));
    }
  }
  return {};
}

Status scale(Stream& /*stream*/, const ScaleParams& params) {
  const auto cap = static_cast<double>(params.softcap);
  for (std::int64_t r = 0; r < params.out.dim(0); ++r) {
    const float* x = float_row(params.x, r);
    float* out = float_row(params.out, r);
    for (std::int64_t i = 0; i < params.out.dim(1); ++i) {
      const double value = static_cast<double>(params.scale) * static_cast<double>(x[i]);
      out[i] = static_cast<float>(cap != 0.0 ? cap * std::tanh(value / cap) : value);
    }
  }
  return {};
}

Status clamp(Stream& /*stream*/, const ClampParams& params) {
  for (std::int64_t r = 0; r < params.out.dim(0); ++r) {
    for (std::int64_t i = 0; i < params.out.dim(1); ++i) {
      const auto limit = static_cast<double>(params.limit);
      float_row(params.out, r)[i] = static_cast<float>(
          clamped(static_cast<double>(float_row(params.x, r)[i]), -limit, limit));
    }
  }
  return {};
}

Status gather_rows(Stream& /*stream*/, const GatherRowsParams& params) {
  for (std::int64_t r = 0; r < params.out.dim(0); ++r) {
    const std::int64_t row = at<std::int32_t>(params.rows, r);
    const bool known = row >= 0 && row < params.x.dim(0);
    for (std::int64_t i = 0; i < params.out.dim(1); ++i) {
      float_row(params.out, r)[i] = known ? float_row(params.x, row)[i] : 0.0F;
    }
  }
  return {};
}

const KernelTable& kernel_table() {
  static constexpr KernelTable kTable = {.name = "ref",
                                         .embedding = embedding,
                                         .rms_norm = rms_norm,
                                         .layer_norm = layer_norm,
                                         .gemm = gemm,
                                         .activation = activation,
                                         .gated_activation = gated_activation,
                                         .add = add,
                                         .scale = scale,
                                         .clamp = clamp,
                                         .gather_rows = gather_rows,
                                         .mix_streams = mix_streams,
                                         .match_size = match_size,
                                         .scale_channels = scale_channels,
                                         .keep_largest = keep_largest,
                                         .causal_conv = causal_conv,
                                         .step_size = step_size,
                                         .selective_scan = selective_scan,
                                         .linear_recurrence = linear_recurrence,
                                         .route = route,
                                         .experts = experts,
                                         .combine_experts = combine_experts,
                                         .rope = rope,
                                         .kv_write = kv_write,
                                         .attention = attention,
                                         .head_gemm = head_gemm,
                                         .choose_positions = choose_positions,
                                         .gather_tokens = gather_tokens,
                                         .scatter_tokens = scatter_tokens,
                                         .process_logits = process_logits,
                                         .mask_logits = mask_logits,
                                         .sample = sample,
                                         .token_logprobs = token_logprobs};
  return kTable;
}

}  // namespace godwit::ref
