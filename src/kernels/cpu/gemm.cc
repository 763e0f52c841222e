// One matrix product.

#include "kernels/cpu/access.h"
#include "kernels/cpu/drivers.h"
#include "kernels/cpu/ready_gemm.h"

namespace godwit::cpu {
namespace {

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
  const std::int64_t rows = params.x.dim(0);
  if (rows == 0 || params.weight.dim(0) == 0) {
    return {};
  }
  if (!params.input_order.empty()) {
    const Workspace::Scope scope(stream.workspace());
    GemmParams ordered = params;
    ordered.x = TRY(order_inputs(stream, params));
    ordered.input_order = Tensor();
    return gemm(isa, stream, ordered);
  }
  const bool quantises =
      has_integer_codes(params.weight.dtype) && params.precision == Precision::kFast;
  const std::int64_t most = quantises ? kGemmRows : rows;
  for (std::int64_t first = 0; first < rows; first += most) {
    const Workspace::Scope scope(stream.workspace());
    GemmParams part = params;
    part.x = params.x.slice(0, first, std::min(most, rows - first));
    part.out = params.out.slice(0, first, part.x.dim(0));
    const GemmInputs inputs =
        TRY(convert_inputs(isa, stream, part.x, part.weight.dtype, part.precision));
    const ReadyGemm ready = TRY(ready_gemm(isa, stream, inputs, part));
    TRY(run_gemms(stream, {&ready, 1}));
  }
  return {};
}

}  // namespace godwit::cpu
