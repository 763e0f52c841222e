#pragma once
// Small host arrays as tensors of a step.

#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "device/stream.h"

namespace godwit {

/// Copies `values` into the stream's workspace. T is float, std::int32_t or std::int64_t.
template <class T>
Result<Tensor> upload(Stream& stream, const std::vector<T>& values,
                      std::initializer_list<std::int64_t> shape) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, std::int32_t> ||
                std::is_same_v<T, std::int64_t>);
  constexpr DType kType = std::is_same_v<T, float>          ? DType::kF32
                          : std::is_same_v<T, std::int32_t> ? DType::kI32
                                                            : DType::kI64;
  const Tensor tensor = TRY(stream.workspace().tensor(kType, shape));
  CHECK_EQ(tensor.elements(), static_cast<std::int64_t>(values.size()));
  TRY(stream.copy_in(tensor.data, std::as_bytes(std::span(values))));
  return tensor;
}

template <class T>
Result<Tensor> upload(Stream& stream, const std::vector<T>& values) {
  return upload(stream, values, {static_cast<std::int64_t>(values.size())});
}

/// Enqueues the copy of a contiguous tensor to the host; the values are there after synchronize().
template <class T>
Status download(Stream& stream, const Tensor& tensor, std::vector<T>& values) {
  CHECK(tensor.is_contiguous());
  CHECK_EQ(tensor.bytes(), static_cast<std::size_t>(tensor.elements()) * sizeof(T));
  values.resize(static_cast<std::size_t>(tensor.elements()));
  return stream.copy_out(std::as_writable_bytes(std::span(values)), tensor.data);
}

}  // namespace godwit
