#include "kernels/cpu/simd/avx512.h"
// Written over the lanes above:
#include "kernels/cpu/body/attention.h"

namespace godwit::cpu {

const AttentionKernels kAvx512Attention = kAttention;

}  // namespace godwit::cpu
