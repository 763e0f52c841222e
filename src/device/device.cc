#include "device/device.h"

namespace godwit {

Buffer::~Buffer() {
  if (data_ != nullptr) {
    device_->release(data_, size_);
  }
}

Result<std::unique_ptr<Device>> create_device(std::string_view name, const DeviceOptions& options) {
  std::string names;
  for (const DeviceKind& kind : device_table()) {
    if (kind.name == name) {
      return kind.create(options);
    }
    names += names.empty() ? "" : ", ";
    names += kind.name;
  }
  return not_found("there is no device '" + std::string(name) + "'", "use one of: " + names);
}

}  // namespace godwit
