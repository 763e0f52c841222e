#include "kernels/cpu/simd/avx2.h"
// Written over the lanes above:
#include "kernels/cpu/body/attention.h"

namespace godwit::cpu {

const AttentionKernels kAvx2Attention = kAttention;

}  // namespace godwit::cpu
