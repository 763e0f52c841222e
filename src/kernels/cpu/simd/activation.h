// The activation functions over sixteen lanes. Included after a simd/ header and exp.h.
//
// Each is a struct with `of(x)`. The stated errors are at kernels/params/dense.h; all pass NaN on.

namespace godwit::cpu {
namespace {

struct Silu {
  static F32x16 of(const F32x16& x) { return x / (splat(1.0F) + exp(splat(0.0F) - x)); }
};

/// (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u)), which loses nothing where tanh comes close to -1.
struct GeluTanh {
  static F32x16 of(const F32x16& x) {
    // 2 sqrt(2 / pi), alone and times 0.044715.
    const F32x16 twice_u = x * fma(x * x, splat(0.0713548163F), splat(1.59576912F));
    return x / (splat(1.0F) + exp(splat(0.0F) - twice_u));
  }
};

/// x Phi(x) = max(x, 0) - |x| Phi(-|x|), with Phi(-a) = exp(-a^2 / 2) t Q(t), t = 1 / (1 + 0.3 a).
/// Q is a minimax polynomial on a in [0, 15] (fitted to math.erfc by reweighted least squares;
/// relative error 4e-9); beyond 15 the term is below f32's smallest number.
struct Gelu {
  static F32x16 of(const F32x16& x) {
    const F32x16 a = min(splat(15.0F), floats(bits(x) & splat_int(0x7fffffff)));
    const F32x16 t = splat(1.0F) / fma(a, splat(0.3F), splat(1.0F));
    F32x16 q = splat(-2.0628714933991432e-2F);
    q = fma(q, t, splat(1.1246507614850998e-1F));
    q = fma(q, t, splat(-2.2828544676303864e-1F));
    q = fma(q, t, splat(1.9188413023948669e-1F));
    q = fma(q, t, splat(-7.9509831964969635e-2F));
    q = fma(q, t, splat(9.6205264329910278e-2F));
    q = fma(q, t, splat(7.8372113406658173e-2F));
    q = fma(q, t, splat(1.1023937165737152e-1F));
    q = fma(q, t, splat(1.1957131326198578e-1F));
    q = fma(q, t, splat(1.1968671530485153e-1F));
    // The rounding of a^2 would show in the exponential: it is made good to first order.
    const F32x16 square = a * a;
    const F32x16 lost = fma(a, a, splat(0.0F) - square);
    const F32x16 power = exp(square * splat(-0.5F));
    const F32x16 tail = fma(power, lost * splat(-0.5F), power) * (q * t);
    return max(splat(0.0F), x) - a * tail;
  }
};

struct Relu {
  static F32x16 of(const F32x16& x) { return max(splat(0.0F), x); }
};

struct ReluSquared {
  static F32x16 of(const F32x16& x) {
    const F32x16 positive = max(splat(0.0F), x);
    return positive * positive;
  }
};

struct QuickGelu {
  static F32x16 of(const F32x16& x) { return x / (splat(1.0F) + exp(x * splat(-1.702F))); }
};

struct Sigmoid {
  static F32x16 of(const F32x16& x) { return splat(1.0F) / (splat(1.0F) + exp(splat(0.0F) - x)); }
};

}  // namespace
}  // namespace godwit::cpu
