#include "kernels/cpu/simd/generic.h"
// Written over the lanes above:
#include "kernels/cpu/body/logits.h"

namespace godwit::cpu {

const LogitsKernels kGenericLogits = kLogits;

}  // namespace godwit::cpu
