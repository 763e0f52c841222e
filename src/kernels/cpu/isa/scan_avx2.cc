#include "kernels/cpu/simd/avx2.h"
// Written over the lanes above:
#include "kernels/cpu/body/scan.h"

namespace godwit::cpu {

const ScanKernels kAvx2Scan = kScan;

}  // namespace godwit::cpu
