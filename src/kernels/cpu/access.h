#pragma once
// How the drivers reach into tensors and streams.

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/thread_pool.h"
#include "device/stream.h"
#include "kernels/cpu/isa_kernels.h"
#include "tensor/tensor.h"

namespace godwit::cpu {

inline ThreadPool& threads_of(Stream& stream) {
  return *static_cast<ThreadPool*>(stream.native());
}

static_assert(static_cast<int>(DType::kMxfp4) - static_cast<int>(DType::kQ8_0) + 1 == kQuantKinds);
static_assert(static_cast<int>(DType::kF8_128) - static_cast<int>(DType::kMxfp4) ==
              kWeightKinds - static_cast<int>(WeightKind::kF8_32));

inline WeightKind kind_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return WeightKind::kF32;
    case DType::kF16:
      return WeightKind::kF16;
    case DType::kBF16:
      return WeightKind::kBF16;
    default:  // The quantised types come in the same order.
      CHECK(is_quantized(dtype));
      return static_cast<WeightKind>(static_cast<int>(dtype) - static_cast<int>(DType::kQ8_0) +
                                     static_cast<int>(WeightKind::kQ8_0));
  }
}

/// Widens `count` elements of any weight type.
inline void widen(const IsaKernels& isa, DType dtype, const void* from, float* to,
                  std::int64_t count) {
  isa.rows->widen[static_cast<int>(kind_of(dtype))](from, to, count);
}

/// Bytes of `count` elements in a row.
inline std::int64_t row_bytes(DType dtype, std::int64_t count) {
  return count / block_elements(dtype) * static_cast<std::int64_t>(block_bytes(dtype));
}

/// Start of entry `index` of axis 0.
inline std::byte* row_at(const Tensor& tensor, std::int64_t index) {
  return static_cast<std::byte*>(tensor.data) + row_bytes(tensor.dtype, index * tensor.stride(0));
}
template <class T>
T* row_of(const Tensor& tensor, std::int64_t index) {
  return static_cast<T*>(tensor.data) + index * tensor.stride(0);
}
/// Element of a one-dimensional tensor.
template <class T>
T& element(const Tensor& tensor, std::int64_t index) {
  return static_cast<T*>(tensor.data)[index * tensor.stride(0)];
}

/// Scratch of `count` elements.
template <class T>
Result<T*> take(Stream& stream, std::int64_t count) {
  void* data = TRY(stream.workspace().take(static_cast<std::size_t>(count) * sizeof(T)));
  return static_cast<T*>(data);
}

/// Calls task(begin, end) for ranges of [0, count), on this thread alone when the work, in elements
/// of memory touched, is too little to wake the team for.
template <class Task>
void split(Stream& stream, std::int64_t count, std::int64_t elements_each, const Task& task) {
  constexpr std::int64_t kWorthwhile = 8192;
  if (count * elements_each < kWorthwhile) {
    if (count > 0) {
      task(std::int64_t{0}, count);
    }
    return;
  }
  threads_of(stream).for_ranges(count, 1, task);
}

}  // namespace godwit::cpu
