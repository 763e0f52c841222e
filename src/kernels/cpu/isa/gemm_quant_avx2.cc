#include "kernels/cpu/simd/avx2.h"
// Written over the lanes above:
#include "kernels/cpu/body/gemm_quant.h"

namespace godwit::cpu {

const QuantGemmKernels kAvx2QuantGemm = {
    .gemm = {quant_gemm<Q8Blocks>, quant_gemm<Q40Blocks>, quant_gemm<Q41Blocks>},
    .scratch_bytes = quant_scratch_bytes};

}  // namespace godwit::cpu
