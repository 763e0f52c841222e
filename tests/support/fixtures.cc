#include "support/fixtures.h"

#include <array>
#include <cstdio>
#include <zlib.h>

#include "base/check.h"

namespace godwit::test {

std::filesystem::path test_data() {
  return std::filesystem::path(GODWIT_SOURCE_DIR) / "tests" / "data";
}

std::optional<std::filesystem::path> shared_fixtures() {
  const auto path = std::filesystem::path(GODWIT_SOURCE_DIR) / ".." / "shared" / "fixtures";
  if (!std::filesystem::is_directory(path)) {
    return std::nullopt;
  }
  return path;
}

std::optional<std::filesystem::path> model_fixture(const std::string& name) {
  const std::filesystem::path committed = test_data() / "models" / name;
  if (std::filesystem::exists(committed)) {
    return committed;
  }
  const auto shared = shared_fixtures();
  if (shared && std::filesystem::exists(*shared / "models" / name)) {
    return *shared / "models" / name;
  }
  return std::nullopt;
}

std::string read_text(const std::filesystem::path& path) {
  // gzread passes files through that are not compressed.
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
  }
  CHECK(file != nullptr);
  std::string text;
  std::array<char, 1 << 16> buffer;
  int count = 0;
  while ((count = gzread(file, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  CHECK_EQ(count, 0);
  gzclose(file);
  return text;
}

std::vector<Json> read_json_lines(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  std::vector<Json> values;
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) {
      end = text.size();
    }
    if (end > begin) {
      Result<Json> value =
          parse_json(std::string_view(text).substr(begin, end - begin), path.filename().string());
      CHECK(value.ok());
      values.push_back(std::move(value).value());
    }
    begin = end + 1;
  }
  return values;
}

}  // namespace godwit::test
