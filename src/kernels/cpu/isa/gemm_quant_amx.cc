#include "kernels/cpu/simd/avx512.h"
// Written over the lanes above:
#include "kernels/cpu/body/gemm_quant.h"
// And what goes beyond it:
#include "kernels/cpu/body/gemm_amx.h"

namespace godwit::cpu {

const QuantGemmKernels kAmxQuantGemm = {
    .gemm = {amx_gemm<Q8Blocks>, amx_gemm<Q40Blocks>, amx_gemm<Q41Blocks>},
    .scratch_bytes = amx_scratch_bytes};

}  // namespace godwit::cpu
