#pragma once
// What keeps the weights of a loaded model alive.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "device/buffer.h"
#include "device/device.h"
#include "tensor/tensor.h"

namespace godwit {

/// Owns the device memory of weights and holds the mappings of those that are used in place.
/// Tensors made by a WeightsReader live as long as this; the Device must outlive it.
class WeightStore {
 public:
  WeightStore() = default;
  explicit WeightStore(std::vector<std::shared_ptr<const MappedFile>> mappings)
      : mappings_(std::move(mappings)) {}

  /// A new zeroed tensor, aligned to 64 bytes. Errors: kResourceExhausted.
  Result<Tensor> allocate(Device& device, DType dtype, std::initializer_list<std::int64_t> shape);

  /// Bytes of device memory held, mapped files not counted.
  [[nodiscard]] std::size_t allocated_bytes() const;

 private:
  /// Memory aligned to 64 bytes.
  Result<void*> take(Device& device, std::size_t bytes);

  std::vector<std::shared_ptr<const MappedFile>> mappings_;
  std::vector<Buffer> buffers_;
  std::byte* free_ = nullptr;   // The rest of a buffer from which small tensors are cut,
  std::size_t free_bytes_ = 0;  // and its size.
};

}  // namespace godwit
