#include "weights/weight_store.h"

#include <limits>
#include <optional>

#include "weights/stored_tensor.h"

namespace godwit {
namespace {

constexpr std::size_t kAlignment = 64;
/// Tensors below a quarter of this are cut from shared buffers, so that the hundreds of norms of a
/// model take no allocation each.
constexpr std::size_t kSharedBytes = std::size_t{4} << 20U;

}  // namespace

Result<Tensor> WeightStore::allocate(Device& device, DType dtype,
                                     std::initializer_list<std::int64_t> shape) {
  const std::span<const std::int64_t> sizes(shape.begin(), shape.size());
  const auto count = element_count(sizes);
  const auto bytes = count ? storage_bytes(dtype, *count) : std::nullopt;
  if (!bytes || *bytes > std::numeric_limits<std::size_t>::max() - kAlignment) {
    return resource_exhausted("a tensor of shape " + shape_text(sizes) + " and type " +
                              std::string(to_string(dtype)) + " cannot be stored");
  }
  return Tensor::contiguous(TRY(take(device, *bytes)), dtype, shape);
}

Result<void*> WeightStore::take(Device& device, std::size_t bytes) {
  const std::size_t padded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (padded > kSharedBytes / 4) {
    buffers_.push_back(TRY(device.allocate(padded, MemoryPurpose::kWeights)));
    return buffers_.back().data();
  }
  if (padded > free_bytes_) {
    buffers_.push_back(TRY(device.allocate(kSharedBytes, MemoryPurpose::kWeights)));
    free_ = static_cast<std::byte*>(buffers_.back().data());
    free_bytes_ = kSharedBytes;
  }
  void* data = free_;
  free_ += padded;
  free_bytes_ -= padded;
  return data;
}

std::size_t WeightStore::allocated_bytes() const {
  std::size_t total = 0;
  for (const Buffer& buffer : buffers_) {
    total += buffer.size();
  }
  return total;
}

}  // namespace godwit
