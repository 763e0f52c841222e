#include "kernels/cpu/simd/avx2.h"
// Written over the lanes above:
#include "kernels/cpu/body/rows.h"

namespace godwit::cpu {

const RowKernels kAvx2Rows = kRows;

}  // namespace godwit::cpu
