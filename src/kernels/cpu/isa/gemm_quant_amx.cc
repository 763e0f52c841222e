#include "kernels/cpu/simd/avx512.h"
// Written over the lanes above:
#include "kernels/cpu/body/gemm_quant.h"
#include "kernels/cpu/body/gemm_units.h"
#include "kernels/cpu/body/unpack_packed.h"
// And what goes beyond it:
#include "kernels/cpu/body/gemm_amx.h"

namespace godwit::cpu {

const QuantGemmKernels kAmxQuantGemm = {
    .gemm = {amx_gemm<Q8Blocks>, amx_gemm<Q40Blocks>, amx_gemm<Q41Blocks>, amx_units_gemm<Q50>,
             amx_units_gemm<Q51>, amx_units_gemm<Q2K>, amx_units_gemm<Q3K>, amx_units_gemm<Q4K>,
             amx_units_gemm<Q5K>, amx_units_gemm<Q6K>, amx_units_gemm<Q8K>, amx_units_gemm<I4<1>>,
             amx_units_gemm<I4<2>>, amx_units_gemm<I4<4>>, amx_units_gemm<I8<1>>,
             amx_units_gemm<I8<4>>, amx_units_gemm<Mxfp4>},
    .scratch_bytes = amx_scratch_bytes};

}  // namespace godwit::cpu
