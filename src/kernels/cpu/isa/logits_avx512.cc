#include "kernels/cpu/simd/avx512.h"
// Written over the lanes above:
#include "kernels/cpu/body/logits.h"

namespace godwit::cpu {

const LogitsKernels kAvx512Logits = kLogits;

}  // namespace godwit::cpu
