#include "kernels/cpu/simd/avx512.h"
// Written over the lanes above:
#include "kernels/cpu/body/gemm_quant.h"
#include "kernels/cpu/body/gemm_units.h"
#include "kernels/cpu/body/unpack_packed.h"

namespace godwit::cpu {

const QuantGemmKernels kAvx512QuantGemm = {
    .gemm = {quant_gemm<Q8Blocks>, quant_gemm<Q40Blocks>, quant_gemm<Q41Blocks>, units_gemm<Q50>,
             units_gemm<Q51>, units_gemm<Q2K>, units_gemm<Q3K>, units_gemm<Q4K>, units_gemm<Q5K>,
             units_gemm<Q6K>, units_gemm<Q8K>, units_gemm<I4<1>>, units_gemm<I4<2>>,
             units_gemm<I4<4>>, units_gemm<I8<1>>, units_gemm<I8<4>>, units_gemm<Mxfp4>},
    .scratch_bytes = quant_scratch_bytes};

}  // namespace godwit::cpu
