#include "hub/model_files.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/json.h"
#include "hub/hub_name.h"

namespace godwit {
namespace {

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";
constexpr std::size_t kMostIndexValues = 2'000'000;
constexpr std::size_t kMostShards = 10'000;
constexpr std::size_t kMostNamed = 12;

constexpr auto kTextFiles = std::to_array<std::string_view>({
    "additional_chat_templates/tool_use.jinja",
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "special_tokens_map.json",
    "tokenizer_config.json",
});

/// Of a vocabulary in several forms the first is read, and the others are not.
constexpr auto kVocabularies = std::to_array<std::string_view>(
    {"tokenizer.json", "tekken.json", "tokenizer.model", "tiktoken.model", "vocab.txt"});

bool contains(const std::vector<std::string>& files, std::string_view name) {
  return std::find(files.begin(), files.end(), name) != files.end();
}

bool is_gguf(std::string_view name) {
  const std::string_view base = name.substr(name.rfind('/') + 1);
  return base.ends_with(".gguf") && !base.starts_with("mmproj");
}

std::string named(const std::vector<std::string>& files) {
  std::string text;
  for (std::size_t i = 0; i < files.size() && i < kMostNamed; ++i) {
    text += (i > 0 ? ", " : "") + printable(files[i]);
  }
  return files.size() > kMostNamed ? text + ", ..." : text;
}

template <class Accept>
std::vector<std::string> those(const std::vector<std::string>& files, const Accept& accept) {
  std::vector<std::string> found;
  std::copy_if(files.begin(), files.end(), std::back_inserter(found), accept);
  std::sort(found.begin(), found.end());
  return found;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// "x-00002-of-00003" without its last 15 characters; nothing changes for another name.
std::string_view without_part(std::string_view stem) {
  constexpr std::string_view kForm = "-ddddd-of-ddddd";
  if (stem.size() <= kForm.size()) {
    return stem;
  }
  const std::string_view end = stem.substr(stem.size() - kForm.size());
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == 'd' ? !is_digit(end[i]) : end[i] != kForm[i]) {
      return stem;
    }
  }
  return stem.substr(0, stem.size() - kForm.size());
}

std::string_view stem_of(std::string_view file) {
  return without_part(file.substr(0, file.size() - std::string_view(".gguf").size()));
}

/// Whether the file's name, without its part, ends with the quantisation as a word of its own.
bool has_quantisation(std::string_view file, std::string_view wanted) {
  const std::string stem = upper_case(stem_of(file));
  if (!stem.ends_with(wanted)) {
    return false;
  }
  const std::size_t at = stem.size() - wanted.size();
  return at == 0 || stem[at - 1] == '-' || stem[at - 1] == '.' || stem[at - 1] == '/' ||
         stem[at - 1] == '_';
}

/// All parts of the model of which `file` is one, the first first; `file` itself if it is whole.
Result<std::vector<std::string>> parts_of(const std::string& file, const std::string& repository) {
  const std::string_view stem = stem_of(file);
  if (stem.size() + std::string_view(".gguf").size() == file.size()) {
    return std::vector<std::string>{file};
  }
  constexpr std::size_t kDigits = 5;
  const std::string count =
      file.substr(stem.size() + std::string_view("-ddddd-of-").size(), kDigits);
  int number = 0;  // Five digits.
  std::from_chars(count.data(), count.data() + kDigits, number);
  if (number < 1 || static_cast<std::size_t>(number) > kMostShards) {
    return invalid_argument(printable(file) + " of " + repository + " is a part of " + count,
                            "name a file of a model in fewer parts");
  }
  std::vector<std::string> parts;
  for (int i = 1; i <= number; ++i) {
    const std::string digits = std::to_string(i);
    parts.push_back(std::string(stem) + "-" + std::string(kDigits - digits.size(), '0') + digits +
                    "-of-" + count + ".gguf");
  }
  return parts;
}

}  // namespace

std::vector<std::string> select_text_files(const std::vector<std::string>& files) {
  const auto* vocabulary =
      std::find_if(kVocabularies.begin(), kVocabularies.end(),
                   [&](std::string_view name) { return contains(files, name); });
  return those(files, [&](std::string_view name) {
    return (vocabulary != kVocabularies.end() && name == *vocabulary) ||
           std::find(kTextFiles.begin(), kTextFiles.end(), name) != kTextFiles.end();
  });
}

Result<std::string> select_weights(const std::vector<std::string>& files,
                                   const std::string& repository) {
  for (const std::string_view name : {kSingleFile, kIndexFile}) {
    if (contains(files, name)) {
      return std::string(name);
    }
  }
  if (const auto gguf = those(files, is_gguf); !gguf.empty()) {
    return not_found(repository + " has no safetensors, but .gguf files: " + named(gguf),
                     "choose one: " + repository + ":FILE.gguf or " + repository + ":Q4_K_M");
  }
  const auto others = those(files, [](std::string_view name) {
    return name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".pth") ||
           name.ends_with(".onnx") || name.ends_with(".h5") || name.ends_with(".msgpack") ||
           name.ends_with(".safetensors");
  });
  if (!others.empty()) {
    return not_found(repository + " has neither " + std::string(kSingleFile) + " nor an index of " +
                         "it; it has " + named(others),
                     "godwit reads safetensors and GGUF alone: choose a repository that has them");
  }
  return not_found(repository + " has no weights", "check the name and the revision");
}

Result<std::vector<std::string>> read_shards(std::string_view index,
                                             const std::string& repository) {
  const std::string what = std::string(kIndexFile) + " of " + repository;
  const Json json = TRY(parse_json(index, what, {.max_values = kMostIndexValues}));
  const Json* map = json.find("weight_map");
  if (map == nullptr || !map->is_object() || map->as_object().empty()) {
    return invalid_argument(what + " has no weight_map");
  }
  std::vector<std::string> shards;
  for (const auto& [tensor, shard] : map->as_object()) {
    if (!shard.is_string() || !is_safe_file_name(shard.as_string()) ||
        shard.as_string().find('/') != std::string::npos ||
        !shard.as_string().ends_with(".safetensors")) {
      return invalid_argument(what + " gives tensor " + printable(tensor) +
                              " no .safetensors file of its folder");
    }
    if (shards.empty() || shards.back() != shard.as_string()) {
      shards.push_back(shard.as_string());
    }
  }
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  if (shards.size() > kMostShards) {
    return invalid_argument(what + " names more than " + std::to_string(kMostShards) + " shards");
  }
  return shards;
}

Result<std::vector<std::string>> select_gguf(const std::vector<std::string>& files,
                                             const std::string& wanted,
                                             const std::string& repository) {
  const std::vector<std::string> gguf = those(files, is_gguf);
  if (wanted.ends_with(".gguf")) {
    if (!contains(files, wanted)) {
      return not_found(repository + " has no file " + printable(wanted),
                       gguf.empty() ? "it has no .gguf file" : "it has " + named(gguf));
    }
    return parts_of(wanted, repository);
  }
  const std::string quantisation = upper_case(wanted);
  std::vector<std::string> found =
      those(gguf, [&](const std::string& file) { return has_quantisation(file, quantisation); });
  if (found.empty()) {
    return not_found(repository + " has no .gguf file of " + printable(wanted),
                     gguf.empty() ? "it has no .gguf file" : "it has " + named(gguf));
  }
  // "x-Q4_K_M" goes before variants of the same type, "x-UD-Q4_K_M".
  std::stable_sort(found.begin(), found.end(), [](const std::string& a, const std::string& b) {
    return stem_of(a).size() < stem_of(b).size();
  });
  if (found.size() > 1 && stem_of(found[0]) != stem_of(found[1]) &&
      stem_of(found[0]).size() == stem_of(found[1]).size()) {
    return invalid_argument(
        repository + " has several files of " + printable(wanted) + ": " + named(found),
        "name one of them after the colon");
  }
  return parts_of(found.front(), repository);
}

}  // namespace godwit
