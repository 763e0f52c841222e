#include "kernels/cpu/simd/avx2.h"
// Written over the lanes above:
#include "kernels/cpu/body/gemm_columns.h"
#include "kernels/cpu/body/gemm_float.h"

namespace godwit::cpu {

const FloatGemmKernels kAvx2FloatGemm = {
    .gemm = {float_gemm<float>, float_gemm<Half>, float_gemm<BFloat>},
    .columns = {column_gemm<float>, column_gemm<Half>, column_gemm<BFloat>},
    .bfloat_pairs = nullptr};

}  // namespace godwit::cpu
