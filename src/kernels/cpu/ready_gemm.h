#pragma once
// Matrix products in two steps: inputs are converted to what the weights pair with, then the
// columns of all products at hand are split among the threads.

#include <cstdint>
#include <span>

#include "base/status.h"
#include "kernels/cpu/isa_kernels.h"
#include "kernels/params/dense.h"

namespace godwit {
class Stream;
}

namespace godwit::cpu {

/// Most rows whose quantised form should meet a matrix at once: it then stays in the second-level
/// cache.
inline constexpr std::int64_t kGemmRows = 512;

/// Some rows, converted for weights of one type. The memory is the workspace's.
struct GemmInputs {
  Tensor x;  ///< [rows, k] f32, as given
  DType weight = DType::kF32;
  Precision precision = Precision::kExact;
  const float* floats = nullptr;  ///< x, or its rounded form.
  std::int64_t stride = 0;        ///< Of the rows of `floats`, in what the kernel counts.
  QuantInputs quant{};            ///< Instead of `floats`.
};

/// A product that any thread may compute any columns of.
struct ReadyGemm {
  const IsaKernels* isa = nullptr;
  DType weight = DType::kF32;
  bool quantised = false;  ///< `quant` is what to call, else `floats`.
  bool widens = false;     ///< Weights are widened a tile at a time.
  FloatGemm floats{};
  void (*float_inner)(const FloatGemm& call) = nullptr;
  QuantGemm quant{};
  void (*quant_inner)(const QuantGemm& call, std::int64_t begin, std::int64_t end,
                      void* scratch) = nullptr;
  /// Inner loops on quantised weights need 16 columns: a narrower matrix is padded, and `floats`
  /// says where its results go.
  bool narrow = false;

  [[nodiscard]] std::int64_t rows() const { return floats.rows; }
  [[nodiscard]] std::int64_t n() const { return floats.n; }
  /// Bytes that a thread needs for columns().
  [[nodiscard]] std::int64_t scratch_bytes() const;
  /// Computes the columns [begin, end); begin is a multiple of 16.
  void columns(std::int64_t begin, std::int64_t end, std::byte* scratch) const;
};

/// Converts x [rows, k]. Errors: kResourceExhausted.
Result<GemmInputs> convert_inputs(const IsaKernels& isa, Stream& stream, const Tensor& x,
                                  DType weight, Precision precision);

/// The product of converted inputs with params.weight; params.x has been converted.
/// Errors: kResourceExhausted.
Result<ReadyGemm> ready_gemm(const IsaKernels& isa, Stream& stream, const GemmInputs& inputs,
                             const GemmParams& params);

/// Computes all of them. Errors: kResourceExhausted.
Status run_gemms(Stream& stream, std::span<const ReadyGemm> gemms);

}  // namespace godwit::cpu
