#include "kernels/cpu/simd/avx512.h"
// Written over the lanes above:
#include "kernels/cpu/body/scan.h"

namespace godwit::cpu {

const ScanKernels kAvx512Scan = kScan;

}  // namespace godwit::cpu
