// The one exponential of the CPU kernels. Included after a simd/ header.

namespace godwit::cpu {
namespace {

/// e^x within 2 units in the last place; exactly 0 for -infinity, NaN for NaN.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2; ln 2 is split in two so that r is exact to f32; e^r by its
/// minimax polynomial (Cephes, expf). 2^n is applied in two factors, so that results may be
/// subnormal or infinite.
inline F32x16 exp(const F32x16& v) {
  const F32x16 x = min(splat(89.0F), max(splat(-104.0F), v));
  const F32x16 magic = splat(12582912.0F);  // 1.5 * 2^23: adding it rounds to an integer.
  const F32x16 shifted = fma(x, splat(1.44269504F), magic);
  const F32x16 n = shifted - magic;
  F32x16 r = fma(n, splat(-0.693359375F), x);
  r = fma(n, splat(2.12194440e-4F), r);
  F32x16 p = splat(1.9875691500e-4F);
  p = fma(p, r, splat(1.3981999507e-3F));
  p = fma(p, r, splat(8.3334519073e-3F));
  p = fma(p, r, splat(4.1665795894e-2F));
  p = fma(p, r, splat(1.6666665459e-1F));
  p = fma(p, r, splat(5.0000001201e-1F));
  p = fma(p, r * r, r) + splat(1.0F);
  const I32x16 power = bits(shifted) - bits(magic);
  const I32x16 half = shift_right<1>(power);
  const I32x16 bias = splat_int(127);
  return p * floats(shift_left<23>(half + bias)) * floats(shift_left<23>(power - half + bias));
}

}  // namespace
}  // namespace godwit::cpu
