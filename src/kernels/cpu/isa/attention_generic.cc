#include "kernels/cpu/simd/generic.h"
// Written over the lanes above:
#include "kernels/cpu/body/attention.h"

namespace godwit::cpu {

const AttentionKernels kGenericAttention = kAttention;

}  // namespace godwit::cpu
