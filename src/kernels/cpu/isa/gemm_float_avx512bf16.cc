#include "kernels/cpu/simd/avx512.h"
// Written over the lanes above:
#include "kernels/cpu/body/gemm_columns.h"
#include "kernels/cpu/body/gemm_float.h"
// And what goes beyond it:
#include "kernels/cpu/body/gemm_bfloat_pairs.h"

namespace godwit::cpu {

const FloatGemmKernels kAvx512Bf16FloatGemm = {
    .gemm = {float_gemm<float>, float_gemm<Half>, float_gemm<BFloat>},
    .columns = {column_gemm<float>, column_gemm<Half>, column_gemm<BFloat>},
    .bfloat_pairs = bfloat_pairs_gemm};

}  // namespace godwit::cpu
