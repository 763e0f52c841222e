#include "kernels/cpu/simd/avx2.h"
// Written over the lanes above:
#include "kernels/cpu/body/logits.h"

namespace godwit::cpu {

const LogitsKernels kAvx2Logits = kLogits;

}  // namespace godwit::cpu
