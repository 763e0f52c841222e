// The soft cap of scores and logits. Included after a simd/ header and exp.h.

namespace godwit::cpu {
namespace {

/// cap * tanh(s / cap), with tanh(u) = 1 - 2 / (1 + exp(2 u)): off by at most cap * 2e-7.
inline F32x16 soft_cap(const F32x16& scores, float cap) {
  const F32x16 ratio = scores * splat(2.0F / cap);
  return splat(cap) - splat(2.0F * cap) / (splat(1.0F) + exp(ratio));
}

}  // namespace
}  // namespace godwit::cpu
