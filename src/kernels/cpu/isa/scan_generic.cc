#include "kernels/cpu/simd/generic.h"
// Written over the lanes above:
#include "kernels/cpu/body/scan.h"

namespace godwit::cpu {

const ScanKernels kGenericScan = kScan;

}  // namespace godwit::cpu
