// One matrix product.

#include "kernels/cpu/access.h"
#include "kernels/cpu/drivers.h"
#include "kernels/cpu/ready_gemm.h"

namespace godwit::cpu {

Status gemm(const IsaKernels& isa, Stream& stream, const GemmParams& params) {
  const std::int64_t rows = params.x.dim(0);
  if (rows == 0 || params.weight.dim(0) == 0) {
    return {};
  }
  const bool quantises = is_quantized(params.weight.dtype) && params.precision == Precision::kFast;
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
