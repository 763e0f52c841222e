// Hostile safetensors headers: nothing but an error may come of them, and what is accepted must lie
// inside the file.

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "weights/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto tensors = godwit::parse_safetensors(bytes, "fuzz");
  if (!tensors.ok()) {
    CHECK(!tensors.status().message().empty());
    return 0;
  }
  std::size_t total = 0;
  for (const godwit::StoredTensor& tensor : *tensors) {
    CHECK(tensor.data.data() >= bytes.data());
    CHECK(tensor.data.data() + tensor.data.size() <= bytes.data() + bytes.size());
    CHECK(godwit::element_count(tensor.shape).has_value());
    total += tensor.data.size();
  }
  CHECK_LE(total, size);
  return 0;
}
