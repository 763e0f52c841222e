#pragma once
// Owned device memory.

#include <cstddef>
#include <cstdint>
#include <utility>

namespace godwit {

class Device;

/// What memory is for; a device may place each kind differently (cache and exchange come from
/// mappings that another process of the host can map).
enum class MemoryPurpose : std::uint8_t { kWeights, kCache, kWorkspace, kExchange };

/// Move-only owner of memory made by a Device, which must outlive it. Host code never follows the
/// pointer: it copies through a Stream.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, void* data, std::size_t size)
      : device_(&device), data_(data), size_(size) {}
  Buffer(Buffer&& other) noexcept
      : device_(other.device_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace godwit
