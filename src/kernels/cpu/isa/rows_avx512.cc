#include "kernels/cpu/simd/avx512.h"
// Written over the lanes above:
#include "kernels/cpu/body/rows.h"

namespace godwit::cpu {

const RowKernels kAvx512Rows = kRows;

}  // namespace godwit::cpu
