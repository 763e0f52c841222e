#pragma once
// For the tests of this folder: files built byte by byte, and broken on purpose.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/sha256.h"

namespace godwit::test {

/// A folder that is removed when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "godwit_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(std::string_view name, std::string_view content) const {
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::string hex(const Sha256Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

template <class T>
void append_number(std::string& out, T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  out.append(raw, sizeof(T));
}

/// A safetensors file of this header and data.
inline std::string safetensors_file(std::string_view header, std::size_t data_bytes) {
  std::string file;
  append_number<std::uint64_t>(file, header.size());
  file += header;
  file.append(data_bytes, '\0');
  return file;
}

/// Builds a GGUF file piece by piece; nothing is checked.
class GgufBuilder {
 public:
  explicit GgufBuilder(std::uint64_t tensors, std::uint64_t metadata, std::uint32_t version = 3)
      : bytes_("GGUF") {
    number(version);
    number(tensors);
    number(metadata);
  }
  template <class T>
  GgufBuilder& number(T value) {
    append_number(bytes_, value);
    return *this;
  }
  GgufBuilder& string(std::string_view text) {
    number<std::uint64_t>(text.size());
    bytes_ += text;
    return *this;
  }
  GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& dimensions,
                      std::uint32_t type, std::uint64_t offset) {
    string(name).number(static_cast<std::uint32_t>(dimensions.size()));
    for (const std::uint64_t size : dimensions) {
      number(size);
    }
    return number(type).number(offset);
  }
  /// Ends the descriptions and adds data.
  std::string data(std::size_t count) {
    constexpr std::size_t kAlignment = 32;
    bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment + count, '\0');
    return bytes_;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace godwit::test
