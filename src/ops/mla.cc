#include "ops/mla.h"

#include "device/device.h"
#include "kernels/kernel_table.h"
#include "ops/shape_check.h"

namespace godwit::ops {

constexpr auto kAny = ShapeCheck::kAny;

Status head_gemm(Stream& stream, const HeadGemmParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t k = params.x.rank == 3 ? params.x.dim(2) : 0;
  const std::int64_t n = params.out.rank == 3 ? params.out.dim(2) : 0;
  TRY(ShapeCheck("head_gemm")
          .f32("x", params.x)
          .shape("x", params.x, {kAny, kAny, kAny})
          .f32("out", params.out)
          .shape("out", params.out, {params.x.dim(0), params.x.dim(1), kAny})
          .weight("weight", params.weight)
          .shape("weight", params.weight,
                 {params.x.dim(1), params.transposed ? k : n, params.transposed ? n : k})
          .require(params.weight.stride(1) == params.weight.dim(2),
                   "the matrices are not contiguous")
          .kernel(kernels.head_gemm != nullptr, kernels.name)
          .status());
  return kernels.head_gemm(stream, params);
}

Status choose_positions(Stream& stream, const ChoosePositionsParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t sequences = params.context_lens.dim(0);
  TRY(ShapeCheck("choose_positions")
          .f32("q", params.q)
          .shape("q", params.q, {kAny, kAny, kAny})
          .f32("weights", params.weights)
          .shape("weights", params.weights, {params.q.dim(0), params.q.dim(1)})
          .dtype("index_cache", params.index_cache, {DType::kF32, DType::kBF16})
          .shape("index_cache", params.index_cache, {kAny, 1, kAny, params.q.dim(2)})
          .require(params.index_cache.stride(2) == params.index_cache.dim(3),
                   "the rows of the index cache are not contiguous")
          .i32("block_tables", params.block_tables)
          .shape("block_tables", params.block_tables, {sequences, kAny})
          .i32("query_start", params.query_start)
          .shape("query_start", params.query_start, {sequences + 1})
          .i32("context_lens", params.context_lens)
          .shape("context_lens", params.context_lens, {sequences})
          .i32("chosen", params.chosen)
          .shape("chosen", params.chosen, {params.q.dim(0), kAny})
          .kernel(kernels.choose_positions != nullptr, kernels.name)
          .status());
  return kernels.choose_positions(stream, params);
}

}  // namespace godwit::ops
