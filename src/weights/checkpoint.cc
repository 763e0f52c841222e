#include "weights/checkpoint.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "weights/gguf_parts.h"
#include "weights/safetensors.h"

namespace godwit {
namespace {

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";
constexpr std::size_t kMaxIndexBytes = 100'000'000;
constexpr std::size_t kMaxIndexValues = 2'000'000;

bool is_present(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

struct IndexEntry {
  std::string tensor;
  std::string shard;
};

/// Reads the pairs of tensor and shard from an index file.
Result<std::vector<IndexEntry>> read_index(const std::filesystem::path& index) {
  constexpr std::string_view kRemedy = "fetch the index file again";
  const std::string text = TRY(read_file(index, kMaxIndexBytes));
  JsonParseOptions options;
  options.unique_keys = true;
  options.max_values = kMaxIndexValues;
  const Json json = TRY(parse_json(text, index.string(), options));
  const Json* map = json.find("weight_map");
  if (map == nullptr || !map->is_object() || map->as_object().empty()) {
    return invalid_argument(index.string() + " has no weight_map", std::string(kRemedy));
  }
  std::vector<IndexEntry> entries;
  for (const auto& [tensor, shard] : map->as_object()) {
    // Only a plain file name: an index must not reach outside its folder.
    if (!shard.is_string() || !shard.as_string().ends_with(".safetensors") ||
        std::filesystem::path(shard.as_string()).filename() != shard.as_string()) {
      return invalid_argument(index.string() + " gives tensor " + shown_name(tensor) +
                                  " no .safetensors file of this folder",
                              std::string(kRemedy));
    }
    entries.push_back({.tensor = tensor, .shard = shard.as_string()});
  }
  return entries;
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return not_found("there is no model at " + path.string(),
                     "give a folder with a Hugging Face checkpoint or a .gguf file");
  }
  if (!std::filesystem::is_directory(status)) {
    return open_gguf(path);
  }
  if (is_present(path / kSingleFile)) {
    Checkpoint checkpoint;
    checkpoint.path_ = path;
    TRY(checkpoint.add_safetensors(path / kSingleFile));
    TRY(checkpoint.sort_tensors());
    return checkpoint;
  }
  if (is_present(path / kIndexFile)) {
    return open_index(path / kIndexFile);
  }
  return not_found(
      path.string() + " holds neither " + std::string(kSingleFile) + " nor " +
          std::string(kIndexFile),
      "convert other formats to safetensors, or give the path of the .gguf file itself");
}

Result<Checkpoint> Checkpoint::open_gguf(const std::filesystem::path& path) {
  Checkpoint checkpoint;
  checkpoint.path_ = path;
  GgufParts parts = TRY(open_gguf_parts(path));
  checkpoint.files_ = std::move(parts.files);
  checkpoint.mappings_ = std::move(parts.mappings);
  checkpoint.gguf_ = std::move(parts.whole);
  checkpoint.tensors_ = checkpoint.gguf_->tensors();
  TRY(checkpoint.sort_tensors());
  return checkpoint;
}

Result<Checkpoint> Checkpoint::open_index(const std::filesystem::path& index) {
  constexpr std::string_view kRemedy = "fetch the index and the shards of one revision again";
  const std::vector<IndexEntry> entries = TRY(read_index(index));
  std::vector<std::string> shards;
  for (const IndexEntry& entry : entries) {
    shards.push_back(entry.shard);
  }
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());

  Checkpoint checkpoint;
  checkpoint.path_ = index.parent_path();
  for (const std::string& shard : shards) {
    const std::filesystem::path file = checkpoint.path_ / shard;
    if (!is_present(file)) {
      return not_found(
          index.string() + " names the shard " + shown_name(shard) + ", which is not in the folder",
          "fetch the missing shard");
    }
    TRY(checkpoint.add_safetensors(file));
  }
  TRY(checkpoint.sort_tensors());
  for (const IndexEntry& entry : entries) {
    const StoredTensor* tensor = checkpoint.find(entry.tensor);
    const std::string said = index.string() + " says that tensor " + shown_name(entry.tensor) +
                             " is in " + shown_name(entry.shard);
    if (tensor == nullptr) {
      return invalid_argument(said + ", but no shard holds it", std::string(kRemedy));
    }
    if (shards[tensor->file] != entry.shard) {
      return invalid_argument(said + ", but it is in " + shown_name(shards[tensor->file]),
                              std::string(kRemedy));
    }
  }
  return checkpoint;
}

Status Checkpoint::add_safetensors(const std::filesystem::path& path) {
  const SafetensorsFile file = TRY(SafetensorsFile::open(path));
  const std::size_t index = files_.size();
  files_.push_back(path.string());
  mappings_.push_back(file.mapping());
  for (const StoredTensor& tensor : file.tensors()) {
    tensors_.push_back(tensor);
    tensors_.back().file = index;
  }
  return {};
}

Status Checkpoint::sort_tensors() {
  std::sort(
      tensors_.begin(), tensors_.end(),
      [](const StoredTensor& left, const StoredTensor& right) { return left.name < right.name; });
  const auto twice = std::adjacent_find(
      tensors_.begin(), tensors_.end(),
      [](const StoredTensor& left, const StoredTensor& right) { return left.name == right.name; });
  if (twice != tensors_.end()) {
    return invalid_argument("tensor " + shown_name(twice->name) + " is both in " + file_of(*twice) +
                                " and in " + file_of(*std::next(twice)),
                            "fetch the shards of one revision again");
  }
  return {};
}

const StoredTensor* Checkpoint::find(std::string_view name) const {
  const auto found = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const StoredTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return found == tensors_.end() || found->name != name ? nullptr : &*found;
}

std::size_t Checkpoint::total_bytes() const {
  std::size_t total = 0;
  for (const StoredTensor& tensor : tensors_) {
    total += tensor.data.size();
  }
  return total;
}

}  // namespace godwit
