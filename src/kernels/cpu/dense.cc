// Kernels on rows of activations.

#include <cstring>

#include "kernels/cpu/access.h"
#include "kernels/cpu/drivers.h"

namespace godwit::cpu {

Status embedding(const IsaKernels& isa, Stream& stream, const EmbeddingParams& params) {
  const std::int64_t width = params.out.dim(1);
  split(stream, params.out.dim(0), width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t id = element<std::int32_t>(params.ids, t);
      auto* out = row_of<float>(params.out, t);
      if (id >= 0 && id < params.table.dim(0)) {
        widen(isa, params.table.dtype, row_at(params.table, id), out, width);
      } else {
        std::fill(out, out + width, 0.0F);
      }
    }
  });
  return {};
}

Status rms_norm(const IsaKernels& isa, Stream& stream, const RmsNormParams& params) {
  const Workspace::Scope scope(stream.workspace());
  const std::int64_t width = params.weight.dim(0);
  const auto* weight = static_cast<const float*>(params.weight.data);
  if (params.weight.dtype != DType::kF32) {
    auto* widened = TRY(take<float>(stream, width));
    widen(isa, params.weight.dtype, params.weight.data, widened, width);
    weight = widened;
  }
  const bool by_head = params.x.rank == 3;
  const std::int64_t heads = by_head ? params.x.dim(1) : 1;
  split(stream, params.x.dim(0) * heads, 2 * width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t head = i % heads;
      isa.rows->rms_norm(
          row_of<float>(params.x, i / heads) + (by_head ? head * params.x.stride(1) : 0), weight,
          row_of<float>(params.out, i / heads) + (by_head ? head * params.out.stride(1) : 0), width,
          params.epsilon);
    }
  });
  return {};
}

Status silu_mul(const IsaKernels& isa, Stream& stream, const SiluMulParams& params) {
  // Columns are split too, so that a single row is shared.
  constexpr std::int64_t kPiece = 1024;
  const std::int64_t width = params.out.dim(1);
  const std::int64_t pieces = (width + kPiece - 1) / kPiece;
  split(stream, params.out.dim(0) * pieces, 4 * std::min(width, kPiece),
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t from = i % pieces * kPiece;
            isa.rows->silu_mul(row_of<float>(params.gate, i / pieces) + from,
                               row_of<float>(params.up, i / pieces) + from,
                               row_of<float>(params.out, i / pieces) + from,
                               std::min(kPiece, width - from));
          }
        });
  return {};
}

Status gather_rows(const IsaKernels& /*isa*/, Stream& stream, const GatherRowsParams& params) {
  const std::int64_t width = params.out.dim(1);
  split(stream, params.out.dim(0), width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t row = element<std::int32_t>(params.rows, r);
      auto* out = row_of<float>(params.out, r);
      if (row >= 0 && row < params.x.dim(0)) {
        std::memcpy(out, row_of<float>(params.x, row),
                    static_cast<std::size_t>(width) * sizeof(float));
      } else {
        std::fill(out, out + width, 0.0F);
      }
    }
  });
  return {};
}

}  // namespace godwit::cpu
