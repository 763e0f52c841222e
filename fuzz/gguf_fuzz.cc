// Hostile GGUF files: nothing but an error may come of them; every metadata value and tensor of an
// accepted file is read.

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "weights/gguf.h"

namespace {

/// Asks for one key in every way, so that each decoder meets each value.
void read_key(const godwit::GgufFile& file, std::string_view key) {
  static_cast<void>(file.get_integer(key).ok());
  static_cast<void>(file.get_number(key).ok());
  static_cast<void>(file.get_bool(key).ok());
  static_cast<void>(file.get_integers(key).ok());
  static_cast<void>(file.get_floats(key).ok());
  static_cast<void>(file.get_bools(key).ok());
  std::size_t length = 0;
  if (const auto text = file.get_string(key); text.ok()) {
    length += std::string(*text).size();
  }
  if (const auto texts = file.get_strings(key); texts.ok()) {
    for (const std::string_view text : *texts) {
      length += std::string(text).size();
    }
  }
  CHECK_LE(length, std::size_t{1} << 40U);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = godwit::GgufFile::parse(bytes, "fuzz");
  if (!file.ok()) {
    CHECK(!file.status().message().empty());
    return 0;
  }
  for (const godwit::GgufMetadata& entry : file->metadata()) {
    read_key(*file, entry.key);
  }
  for (const godwit::StoredTensor& tensor : file->tensors()) {
    CHECK(tensor.data.data() >= bytes.data());
    CHECK(tensor.data.data() + tensor.data.size() <= bytes.data() + bytes.size());
    CHECK(file->find(tensor.name) != nullptr);
  }
  return 0;
}
