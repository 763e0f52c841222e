#include "weights/gguf_parts.h"

#include <cstdio>
#include <system_error>
#include <utility>

namespace godwit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNumber = "split.no";
constexpr const char* kCount = "split.count";
constexpr const char* kTensors = "split.tensors.count";
constexpr std::int64_t kMostParts = 99999;  // Five digits.

std::string part_ending(std::int64_t number, std::int64_t count) {
  char text[32];
  std::snprintf(text, sizeof(text), "-%05lld-of-%05lld.gguf", static_cast<long long>(number),
                static_cast<long long>(count));
  return text;
}

/// The name without its ending as part `number`, counted from 1.
Result<std::string> common_name(const fs::path& path, std::int64_t number, std::int64_t count) {
  std::string name = path.filename().string();
  const std::string ending = part_ending(number, count);
  if (!name.ends_with(ending)) {
    return invalid_argument(path.string() + " is part " + std::to_string(number) + " of " +
                                std::to_string(count) + ", and the others are looked for by name",
                            "give the parts back their names, which end in " + ending);
  }
  name.resize(name.size() - ending.size());
  return name;
}

/// Opens part `number`, counted from 0.
Result<GgufFile> open_part(const fs::path& path, std::int64_t number, std::int64_t count) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return not_found(path.string() + " is missing, which is a part of this model",
                     "fetch all of its parts into one folder");
  }
  GgufFile part = TRY(GgufFile::open(path));
  if (TRY(part.get_integer(kNumber)) != number || TRY(part.get_integer(kCount)) != count) {
    return invalid_argument(path.string() + " is not part " + std::to_string(number + 1) + " of " +
                                std::to_string(count) + ", as its name says",
                            "fetch the parts of one model again");
  }
  return part;
}

}  // namespace

Result<GgufParts> open_gguf_parts(const fs::path& path) {
  GgufFile first = TRY(GgufFile::open(path));
  std::vector<std::shared_ptr<const MappedFile>> mappings = {first.mapping()};
  GgufParts parts{std::move(first), {path.string()}, std::move(mappings)};
  const std::int64_t count =
      parts.whole.contains(kCount) ? TRY(parts.whole.get_integer(kCount)) : 0;
  if (count <= 1) {
    return parts;
  }
  const std::int64_t number = TRY(parts.whole.get_integer(kNumber));
  if (count > kMostParts || number < 0 || number >= count) {
    return invalid_argument(path.string() + ": " + kNumber + " is " + std::to_string(number) +
                            " and " + kCount + " is " + std::to_string(count));
  }
  const std::string name = TRY(common_name(path, number + 1, count));
  if (number != 0) {
    return invalid_argument(
        path.string() + " is part " + std::to_string(number + 1) + " of a model",
        "give the first: " + (path.parent_path() / (name + part_ending(1, count))).string());
  }
  for (std::int64_t i = 1; i < count; ++i) {
    const fs::path file = path.parent_path() / (name + part_ending(i + 1, count));
    const GgufFile part = TRY(open_part(file, i, count));
    parts.whole.add_tensors(part, static_cast<std::size_t>(i));
    parts.files.push_back(file.string());
    parts.mappings.push_back(part.mapping());
  }
  const auto found = static_cast<std::int64_t>(parts.whole.tensors().size());
  if (parts.whole.contains(kTensors) && TRY(parts.whole.get_integer(kTensors)) != found) {
    return invalid_argument(path.string() + ": " + kTensors + " is " +
                                std::to_string(TRY(parts.whole.get_integer(kTensors))) +
                                ", but the parts hold " + std::to_string(found),
                            "fetch the parts of one model again");
  }
  return parts;
}

}  // namespace godwit
