#include "kernels/cpu/simd/generic.h"
// Written over the lanes above:
#include "kernels/cpu/body/rows.h"

namespace godwit::cpu {

const RowKernels kGenericRows = kRows;

}  // namespace godwit::cpu
