#include "kernels/cpu/ready_gemm.h"

#include <cstring>

#include "kernels/cpu/access.h"
#include "kernels/cpu/drivers.h"

namespace godwit::cpu {
namespace {

/// Columns of a tile.
constexpr std::int64_t kColumns = 16;

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

/// Whether the kernel multiplies pairs of bf16.
bool uses_pairs(const IsaKernels& isa, DType weight, Precision precision) {
  return weight == DType::kBF16 && precision == Precision::kFast &&
         isa.float_gemm->bfloat_pairs != nullptr;
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

/// Inputs for bf16 weights, rounded to bf16.
Status round_rows(const IsaKernels& isa, Stream& stream, GemmInputs& inputs) {
  const std::int64_t rows = inputs.x.dim(0);
  const std::int64_t k = inputs.x.dim(1);
  const std::int64_t width = (k + 31) / 32 * 32;
  const bool pairs = uses_pairs(isa, inputs.weight, inputs.precision);
  auto* rounded = TRY(take<float>(stream, rows * width));
  split(stream, rows, k, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float* row = row_of<float>(inputs.x, r);
      if (pairs) {
        isa.rows->to_bfloat(row, reinterpret_cast<BFloat*>(rounded + r * width), k);
      } else {
        isa.rows->round_to_bfloat(row, rounded + r * width, k);
      }
    }
  });
  inputs.floats = rounded;
  inputs.stride = pairs ? 2 * width : width;
  return {};
}

/// Quantises the rows, and gives the rows that fill the last tile scale 0.
Status quantize_rows(const IsaKernels& isa, Stream& stream, GemmInputs& inputs) {
  const std::int64_t rows = inputs.x.dim(0);
  const std::int64_t k = inputs.x.dim(1);
  const std::int64_t blocks = k / 32;
  const std::int64_t places = (rows + kQuantTile - 1) / kQuantTile * kQuantTile * blocks;
  const QuantInputs to = {.q = TRY(take<std::int8_t>(stream, places * 32)),
                          .scale = TRY(take<float>(stream, places)),
                          .sum = TRY(take<std::int32_t>(stream, places)),
                          .scaled_sum = TRY(take<float>(stream, places)),
                          .first_sum = TRY(take<std::int32_t>(stream, places))};
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
      isa.rows->quantize(row_of<const float>(inputs.x, r), k,
                         {.q = to.q + at * 32,
                          .scale = to.scale + at,
                          .sum = to.sum + at,
                          .scaled_sum = to.scaled_sum + at,
                          .first_sum = to.first_sum + at});
    }
  });
  inputs.quant = to;
  return {};
}

/// Replaces a quantised call of fewer than 16 columns by one on a padded copy.
Status pad_columns(Stream& stream, ReadyGemm& gemm) {
  const QuantGemm call = gemm.quant;
  const auto size = static_cast<std::size_t>(row_bytes(gemm.weight, call.k));
  const auto n = static_cast<std::size_t>(call.n);
  auto* w = TRY(take<std::uint8_t>(stream, static_cast<std::int64_t>(kColumns * size)));
  std::memcpy(w, call.w, n * size);
  std::memset(w + n * size, 0, (kColumns - n) * size);
  auto* bias = TRY(take<float>(stream, kColumns));
  auto* out = TRY(take<float>(stream, call.rows * kColumns));
  std::fill_n(bias, kColumns, 0.0F);
  if (call.bias != nullptr) {
    std::copy_n(call.bias, call.n, bias);
    gemm.quant.bias = bias;
  }
  for (std::int64_t r = 0; r < call.rows; ++r) {
    std::fill_n(out + r * kColumns, kColumns, 0.0F);
    std::copy_n(call.out + r * call.out_stride, call.n, out + r * kColumns);
  }
  gemm.quant.w = w;
  gemm.quant.n = kColumns;
  gemm.quant.out = out;
  gemm.quant.out_stride = kColumns;
  gemm.narrow = true;
  return {};
}

}  // namespace

std::int64_t ReadyGemm::scratch_bytes() const {
  if (quantised) {
    return isa->quant_gemm->scratch_bytes(quant.k);
  }
  return widens ? kColumns * floats.k * static_cast<std::int64_t>(sizeof(float)) : 0;
}

void ReadyGemm::columns(std::int64_t begin, std::int64_t end, std::byte* scratch) const {
  if (narrow) {
    quant_inner(quant, 0, kColumns, scratch);
    for (std::int64_t r = 0; r < floats.rows; ++r) {
      std::copy_n(quant.out + r * kColumns, floats.n, floats.out + r * floats.out_stride);
    }
    return;
  }
  if (quantised) {
    quant_inner(quant, begin, end, scratch);
    return;
  }
  const std::int64_t bytes = row_bytes(weight, floats.k);
  if (!widens) {
    float_inner(columns_of(floats, begin, end, bytes));
    return;
  }
  auto* tile = reinterpret_cast<float*>(scratch);
  for (std::int64_t from = begin; from < end; from += kColumns) {
    FloatGemm part = columns_of(floats, from, std::min(end, from + kColumns), bytes);
    widen(*isa, weight, part.w, tile, part.n * floats.k);
    part.w = tile;
    float_inner(part);
  }
}

Result<GemmInputs> convert_inputs(const IsaKernels& isa, Stream& stream, const Tensor& x,
                                  DType weight, Precision precision) {
  GemmInputs inputs = {.x = x,
                       .weight = weight,
                       .precision = precision,
                       .floats = static_cast<const float*>(x.data),
                       .stride = x.stride(0)};
  if (precision == Precision::kFast && has_integer_codes(weight)) {
    TRY(quantize_rows(isa, stream, inputs));
  } else if (precision == Precision::kFast && weight == DType::kBF16) {
    TRY(round_rows(isa, stream, inputs));
  }
  return inputs;
}

Result<ReadyGemm> ready_gemm(const IsaKernels& isa, Stream& stream, const GemmInputs& inputs,
                             const GemmParams& params) {
  ReadyGemm gemm = {.isa = &isa, .weight = params.weight.dtype};
  gemm.floats = {.x = inputs.floats,
                 .x_stride = inputs.stride,
                 .rows = inputs.x.dim(0),
                 .k = inputs.x.dim(1),
                 .w = params.weight.data,
                 .n = params.weight.dim(0),
                 .bias = TRY(widened_bias(isa, stream, params.bias)),
                 .out = static_cast<float*>(params.out.data),
                 .out_stride = params.out.stride(0),
                 .accumulate = params.accumulate};
  const FloatGemm& call = gemm.floats;
  if (!is_quantized(gemm.weight)) {
    gemm.float_inner = uses_pairs(isa, gemm.weight, inputs.precision)
                           ? isa.float_gemm->bfloat_pairs
                           : isa.float_gemm->gemm[static_cast<int>(kind_of(gemm.weight))];
    return gemm;
  }
  if (inputs.precision == Precision::kExact || !has_integer_codes(gemm.weight)) {
    gemm.widens = true;
    gemm.float_inner = isa.float_gemm->gemm[static_cast<int>(WeightKind::kF32)];
    return gemm;
  }
  gemm.quantised = true;
  gemm.quant_inner =
      isa.quant_gemm
          ->gemm[static_cast<int>(kind_of(gemm.weight)) - static_cast<int>(WeightKind::kQ8_0)];
  gemm.quant = {.q = inputs.quant.q,
                .scale = inputs.quant.scale,
                .sum = inputs.quant.sum,
                .scaled_sum = inputs.quant.scaled_sum,
                .first_sum = inputs.quant.first_sum,
                .rows = call.rows,
                .k = call.k,
                .w = static_cast<const std::uint8_t*>(call.w),
                .n = call.n,
                .bias = call.bias,
                .out = call.out,
                .out_stride = call.out_stride,
                .accumulate = call.accumulate};
  if (call.n < kColumns) {
    TRY(pad_columns(stream, gemm));
  }
  return gemm;
}

Status run_gemms(Stream& stream, std::span<const ReadyGemm> gemms) {
  // What a tile costs: its rows, and about as much as four rows for bringing its weights.
  const auto cost_of = [](const ReadyGemm& gemm) { return gemm.rows() + 4; };
  const auto tiles_of = [](const ReadyGemm& gemm) { return (gemm.n() + kColumns - 1) / kColumns; };
  std::int64_t scratch_each = 0;
  std::int64_t tiles = 0;
  std::int64_t total = 0;
  for (const ReadyGemm& gemm : gemms) {
    scratch_each = std::max(scratch_each, (gemm.scratch_bytes() + 63) / 64 * 64);
    tiles += tiles_of(gemm);
    total += tiles_of(gemm) * cost_of(gemm);
  }
  ThreadPool& threads = threads_of(stream);
  const std::int64_t team = tiles > 1 ? threads.size() : 1;
  auto* scratch = TRY(take<std::byte>(stream, std::max<std::int64_t>(1, scratch_each * team)));
  // A thread takes the tiles that begin within its share of the cost.
  const auto work = [&](std::int64_t thread) {
    const std::int64_t low = total * thread / team;
    const std::int64_t high = total * (thread + 1) / team;
    std::int64_t before = 0;
    for (const ReadyGemm& gemm : gemms) {
      const std::int64_t cost = cost_of(gemm);
      const std::int64_t count = tiles_of(gemm);
      const auto tile_at = [&](std::int64_t place) {
        return std::clamp<std::int64_t>((place - before + cost - 1) / cost, 0, count);
      };
      const std::int64_t begin = low <= before ? 0 : tile_at(low);
      const std::int64_t end = high <= before ? 0 : tile_at(high);
      if (begin < end) {
        gemm.columns(begin * kColumns, std::min(end * kColumns, gemm.n()),
                     scratch + thread * scratch_each);
      }
      before += count * cost;
    }
  };
  if (team == 1) {
    work(0);
  } else {
    threads.run([&](int thread) { work(thread); });
  }
  return {};
}

}  // namespace godwit::cpu
