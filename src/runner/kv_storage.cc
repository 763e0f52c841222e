#include "runner/kv_storage.h"

namespace godwit {

Result<KvStorage> KvStorage::create(Device& device, const KvCacheSpec& spec, DType dtype,
                                    std::int64_t num_blocks) {
  const std::size_t half = static_cast<std::size_t>(num_blocks) * spec.page_bytes();
  KvStorage storage;
  storage.buffer_ = TRY(
      device.allocate(2 * half * static_cast<std::size_t>(spec.num_layers), MemoryPurpose::kCache));
  auto* data = static_cast<std::byte*>(storage.buffer_.data());
  const auto pages = [&](std::byte* begin) {
    return Tensor::contiguous(begin, dtype,
                              {num_blocks, spec.num_kv_heads, spec.block_size, spec.head_dim});
  };
  for (std::int64_t layer = 0; layer < spec.num_layers; ++layer) {
    storage.layers_.push_back({.k = pages(data), .v = pages(data + half)});
    data += 2 * half;
  }
  return storage;
}

}  // namespace godwit
