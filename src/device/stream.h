#pragma once
// An ordered queue of work on a device.

#include <cstddef>
#include <span>

#include "base/status.h"
#include "device/workspace.h"

namespace godwit {

class Device;

/// Kernels and copies given to one stream take effect in order. One thread at a time uses a stream.
class Stream {
 public:
  explicit Stream(Device& device) : device_(device), workspace_(device) {}
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Copies host bytes to device memory; `source` may be reused when this returns.
  virtual Status copy_in(void* destination, std::span<const std::byte> source) = 0;
  /// Copies device memory to the host; `destination` is filled once synchronize() returned.
  virtual Status copy_out(std::span<std::byte> destination, const void* source) = 0;
  /// Copies between places of this device; the ranges must not overlap.
  virtual Status copy(void* destination, const void* source, std::size_t bytes) = 0;
  /// Waits for everything enqueued so far and reports the first failure among it.
  virtual Status synchronize() = 0;
  /// The device's own handle, for kernels: ThreadPool* on a CPU.
  [[nodiscard]] virtual void* native() = 0;

  [[nodiscard]] Device& device() { return device_; }
  /// Scratch memory of this stream, the only memory that kernels and layers may take while running.
  [[nodiscard]] Workspace& workspace() { return workspace_; }

 private:
  Device& device_;
  Workspace workspace_;
};

}  // namespace godwit
