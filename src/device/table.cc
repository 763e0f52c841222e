#include <array>

#include "device/device.h"

namespace godwit {

// Devices that are always present are linked in; their folders are leaves and are named here only.
Result<std::unique_ptr<Device>> create_cpu_device(const DeviceOptions& options);

std::span<const DeviceKind> device_table() {
  static constexpr std::array<DeviceKind, 1> kTable = {{
      {.name = "cpu", .summary = "this machine's processors", .create = &create_cpu_device},
  }};
  return kTable;
}

}  // namespace godwit
