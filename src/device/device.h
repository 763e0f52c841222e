#pragma once
// The seam between the engine and what computes: everything above ops/ knows a device by this
// interface alone.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "device/buffer.h"
#include "device/stream.h"

namespace godwit {

struct KernelTable;

struct DeviceOptions {
  int threads = 0;  ///< Worker threads of a CPU device; 0 = one per core this process may use.
  /// Kernel table of a CPU device (amx, avx512bf16, avx512, avx2, generic, ref); empty = the best.
  std::string isa;
};

struct DeviceMemory {
  std::size_t total = 0;      ///< Bytes the device has.
  std::size_t available = 0;  ///< Bytes that could be allocated now.
};

/// Memory, streams and kernels of one device. Methods may be called from any thread.
class Device {
 public:
  virtual ~Device() = default;

  /// "cpu (avx512, 2 threads)", for people.
  [[nodiscard]] virtual std::string description() const = 0;
  /// The hardware behind it and its features, for people.
  [[nodiscard]] virtual std::string hardware() const = 0;
  [[nodiscard]] virtual const KernelTable& kernels() const = 0;
  [[nodiscard]] virtual DeviceMemory memory() const = 0;
  /// Whether kernels can read ordinary host memory, so that weights may stay in a mapped file.
  [[nodiscard]] virtual bool reads_host_memory() const = 0;
  /// Allocates zeroed memory aligned to 64 bytes. Errors: kResourceExhausted.
  virtual Result<Buffer> allocate(std::size_t bytes, MemoryPurpose purpose) = 0;
  virtual Result<std::unique_ptr<Stream>> create_stream() = 0;

 protected:
  friend class Buffer;
  virtual void release(void* data, std::size_t size) noexcept = 0;
};

/// A row of the table of devices.
struct DeviceKind {
  std::string_view name;
  std::string_view summary;
  Result<std::unique_ptr<Device>> (*create)(const DeviceOptions& options);
};

/// Every device this build has.
std::span<const DeviceKind> device_table();

/// Errors: kNotFound naming the table; what the device says of its options.
Result<std::unique_ptr<Device>> create_device(std::string_view name, const DeviceOptions& options);

}  // namespace godwit
