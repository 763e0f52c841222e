#include "bench/result_file.h"

#include <cstdio>

namespace godwit {

Status write_result(const std::string& path, const Json& result) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  bool written = file != nullptr;
  if (written) {
    const std::string text = to_json(result, 4) + "\n";
    written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    written = (std::fclose(file) == 0) && written;
  }
  if (!written) {
    return invalid_argument("cannot write " + path, "give a file in a folder that exists");
  }
  return {};
}

}  // namespace godwit
