// Matrix products: inputs are converted once, then the columns are split among the threads.

#include <cstring>

#include "kernels/cpu/access.h"
#include "kernels/cpu/drivers.h"

namespace godwit::cpu {
namespace {

/// Columns that a thread takes at a time; a multiple of 16, the width of a tile.
constexpr std::int64_t kColumns = 16;
/// Rows done before the next ones; their quantised form should stay in the second-level cache.
constexpr std::int64_t kQuantRows = 512;

Result<const float*> widened_bias(const IsaKernels& isa, Stream& stream, const Tensor& bias) {
  if (bias.empty()) {
    return static_cast<const float*>(nullptr);
  }
  if (bias.dtype == DType::kF32 && bias.stride(0) == 1) {
    return static_cast<const float*>(bias.data);
  }
  auto* widened = TRY(take<float>(stream, bias.dim(0)));
  widen(isa, bias.dtype, bias.data, widened, bias.dim(0));
  return static_cast<const float*>(widened);
}

FloatGemm float_call(const GemmParams& params, const float* bias) {
  return {.x = static_cast<const float*>(params.x.data),
          .x_stride = params.x.stride(0),
          .rows = params.x.dim(0),
          .k = params.x.dim(1),
          .w = params.weight.data,
          .n = params.weight.dim(0),
          .bias = bias,
          .out = static_cast<float*>(params.out.data),
          .out_stride = params.out.stride(0),
          .accumulate = params.accumulate};
}

/// The columns [begin, end) of a call whose weights have `column_bytes` each.
FloatGemm columns_of(FloatGemm call, std::int64_t begin, std::int64_t end,
                     std::int64_t column_bytes) {
  call.w = static_cast<const std::byte*>(call.w) + begin * column_bytes;
  call.n = end - begin;
  call.bias = call.bias == nullptr ? nullptr : call.bias + begin;
  call.out += begin;
  return call;
}

void float_gemm(Stream& stream, const FloatGemm& call, std::int64_t column_bytes,
                void (*inner)(const FloatGemm&)) {
  threads_of(stream).for_ranges(call.n, kColumns, [&](std::int64_t begin, std::int64_t end) {
    inner(columns_of(call, begin, end, column_bytes));
  });
}

/// bf16 weights times inputs rounded to bf16.
Status fast_bfloat_gemm(const IsaKernels& isa, Stream& stream, FloatGemm call) {
  const bool pairs = isa.float_gemm->bfloat_pairs != nullptr;
  const std::int64_t width = (call.k + 31) / 32 * 32;
  auto* rounded = TRY(take<float>(stream, call.rows * width));
  split(stream, call.rows, call.k, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float* row = call.x + r * call.x_stride;
      if (pairs) {
        isa.rows->to_bfloat(row, reinterpret_cast<BFloat*>(rounded + r * width), call.k);
      } else {
        isa.rows->round_to_bfloat(row, rounded + r * width, call.k);
      }
    }
  });
  call.x = rounded;
  call.x_stride = pairs ? 2 * width : width;
  float_gemm(stream, call, call.k * 2,
             pairs ? isa.float_gemm->bfloat_pairs
                   : isa.float_gemm->gemm[static_cast<int>(WeightKind::kBF16)]);
  return {};
}

/// Quantised weights, widened a tile of columns at a time.
Status widening_gemm(const IsaKernels& isa, Stream& stream, const GemmParams& params,
                     const FloatGemm& call) {
  const std::int64_t bytes = row_bytes(params.weight.dtype, call.k);
  ThreadPool& threads = threads_of(stream);
  auto* tiles = TRY(take<float>(stream, threads.size() * kColumns * call.k));
  const std::int64_t count = (call.n + kColumns - 1) / kColumns;
  threads.run([&](int thread) {
    float* tile = tiles + thread * kColumns * call.k;
    for (std::int64_t i = count * thread / threads.size();
         i < count * (thread + 1) / threads.size(); ++i) {
      const std::int64_t begin = i * kColumns;
      FloatGemm part = columns_of(call, begin, std::min(call.n, begin + kColumns), bytes);
      widen(isa, params.weight.dtype, part.w, tile, part.n * call.k);
      part.w = tile;
      isa.float_gemm->gemm[static_cast<int>(WeightKind::kF32)](part);
    }
  });
  return {};
}

/// Quantises the rows [first, first + rows), and gives the rows that fill the last tile scale 0.
void quantize_rows(const IsaKernels& isa, Stream& stream, const Tensor& x, std::int64_t first,
                   std::int64_t rows, const QuantInputs& to) {
  const std::int64_t k = x.dim(1);
  const std::int64_t blocks = k / 32;
  const auto place = [&](std::int64_t row, std::int64_t block) {
    return (row / kQuantTile * blocks + block) * kQuantTile + row % kQuantTile;
  };
  const std::int64_t padding = (kQuantTile - rows % kQuantTile) % kQuantTile;
  for (std::int64_t b = 0; b < blocks && padding > 0; ++b) {
    std::fill_n(to.scale + place(rows, b), padding, 0.0F);
    std::fill_n(to.scaled_sum + place(rows, b), padding, 0.0F);
  }
  split(stream, rows, k, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t at = place(r, 0);
      isa.rows->quantize(row_of<const float>(x, first + r), k,
                         {.q = to.q + at * 32,
                          .scale = to.scale + at,
                          .sum = to.sum + at,
                          .scaled_sum = to.scaled_sum + at,
                          .first_sum = to.first_sum + at});
    }
  });
}

auto quant_kernel(const IsaKernels& isa, DType dtype) {
  return isa.quant_gemm
      ->gemm[static_cast<int>(kind_of(dtype)) - static_cast<int>(WeightKind::kQ8_0)];
}

/// Inner loops work on 16 columns; a narrower matrix is done on a padded copy.
Status narrow_quant_gemm(const IsaKernels& isa, Stream& stream, const GemmParams& params,
                         QuantGemm call) {
  const auto size = static_cast<std::size_t>(row_bytes(params.weight.dtype, call.k));
  const auto n = static_cast<std::size_t>(call.n);
  auto* w = TRY(take<std::uint8_t>(stream, static_cast<std::int64_t>(16 * size)));
  std::memcpy(w, call.w, n * size);
  std::memset(w + n * size, 0, (16 - n) * size);
  auto* bias = TRY(take<float>(stream, 16));
  auto* out = TRY(take<float>(stream, call.rows * 16));
  std::fill(bias, bias + 16, 0.0F);
  if (call.bias != nullptr) {
    std::copy(call.bias, call.bias + call.n, bias);
    call.bias = bias;
  }
  for (std::int64_t r = 0; r < call.rows; ++r) {
    std::fill(out + r * 16, out + r * 16 + 16, 0.0F);
    std::copy(call.out + r * call.out_stride, call.out + r * call.out_stride + call.n,
              out + r * 16);
  }
  QuantGemm wide = call;
  wide.w = w;
  wide.n = 16;
  wide.out = out;
  wide.out_stride = 16;
  auto* scratch = TRY(take<std::byte>(stream, isa.quant_gemm->scratch_bytes(call.k)));
  quant_kernel(isa, params.weight.dtype)(wide, 0, 16, scratch);
  for (std::int64_t r = 0; r < call.rows; ++r) {
    std::copy(out + r * 16, out + r * 16 + call.n, call.out + r * call.out_stride);
  }
  return {};
}

Status fast_quant_gemm(const IsaKernels& isa, Stream& stream, const GemmParams& params,
                       const float* bias) {
  const std::int64_t k = params.x.dim(1);
  const std::int64_t rows = std::min(params.x.dim(0), kQuantRows);
  const std::int64_t blocks = k / 32;
  const std::int64_t places = (rows + kQuantTile - 1) / kQuantTile * kQuantTile * blocks;
  const QuantInputs inputs = {.q = TRY(take<std::int8_t>(stream, places * 32)),
                              .scale = TRY(take<float>(stream, places)),
                              .sum = TRY(take<std::int32_t>(stream, places)),
                              .scaled_sum = TRY(take<float>(stream, places)),
                              .first_sum = TRY(take<std::int32_t>(stream, places))};
  ThreadPool& threads = threads_of(stream);
  const std::int64_t each = (isa.quant_gemm->scratch_bytes(k) + 63) / 64 * 64;
  QuantGemm call = {.q = inputs.q,
                    .scale = inputs.scale,
                    .sum = inputs.sum,
                    .scaled_sum = inputs.scaled_sum,
                    .first_sum = inputs.first_sum,
                    .rows = rows,
                    .k = k,
                    .w = static_cast<const std::uint8_t*>(params.weight.data),
                    .n = params.weight.dim(0),
                    .bias = bias,
                    .out = static_cast<float*>(params.out.data),
                    .out_stride = params.out.stride(0),
                    .accumulate = params.accumulate};
  auto* scratch = TRY(take<std::byte>(stream, each * threads.size()));
  const auto inner = quant_kernel(isa, params.weight.dtype);
  const std::int64_t tiles = (call.n + kColumns - 1) / kColumns;
  for (std::int64_t first = 0; first < params.x.dim(0); first += kQuantRows) {
    call.rows = std::min(kQuantRows, params.x.dim(0) - first);
    call.out = row_of<float>(params.out, first);
    quantize_rows(isa, stream, params.x, first, call.rows, inputs);
    if (call.n < 16) {
      TRY(narrow_quant_gemm(isa, stream, params, call));
      continue;
    }
    threads.run([&](int thread) {
      const std::int64_t begin = tiles * thread / threads.size() * kColumns;
      const std::int64_t end = std::min(call.n, tiles * (thread + 1) / threads.size() * kColumns);
      if (begin < end) {
        inner(call, begin, end, scratch + thread * each);
      }
    });
  }
  return {};
}

/// The columns of x in the order of the weight's.
Result<Tensor> order_inputs(Stream& stream, const GemmParams& params) {
  const std::int64_t k = params.x.dim(1);
  const Tensor ordered = TRY(stream.workspace().tensor(DType::kF32, {params.x.dim(0), k}));
  const auto* order = static_cast<const std::int32_t*>(params.input_order.data);
  split(stream, params.x.dim(0), 2 * k, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float* from = row_of<float>(params.x, r);
      float* to = row_of<float>(ordered, r);
      for (std::int64_t i = 0; i < k; ++i) {
        to[i] = from[order[i]];
      }
    }
  });
  return ordered;
}

}  // namespace

Status gemm(const IsaKernels& isa, Stream& stream, const GemmParams& params) {
  if (params.x.dim(0) == 0 || params.weight.dim(0) == 0) {
    return {};
  }
  const Workspace::Scope scope(stream.workspace());
  if (!params.input_order.empty()) {
    GemmParams ordered = params;
    ordered.x = TRY(order_inputs(stream, params));
    ordered.input_order = Tensor();
    return gemm(isa, stream, ordered);
  }
  const float* bias = TRY(widened_bias(isa, stream, params.bias));
  const FloatGemm call = float_call(params, bias);
  const DType dtype = params.weight.dtype;
  const bool fast = params.precision == Precision::kFast;
  if (is_quantized(dtype)) {
    return fast && has_integer_codes(dtype) ? fast_quant_gemm(isa, stream, params, bias)
                                            : widening_gemm(isa, stream, params, call);
  }
  if (fast && dtype == DType::kBF16) {
    return fast_bfloat_gemm(isa, stream, call);
  }
  float_gemm(stream, call, row_bytes(dtype, call.k),
             isa.float_gemm->gemm[static_cast<int>(kind_of(dtype))]);
  return {};
}

}  // namespace godwit::cpu
