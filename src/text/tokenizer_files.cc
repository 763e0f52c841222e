#include "text/tokenizer_files.h"

#include <array>
#include <optional>
#include <string>
#include <system_error>

#include "base/json.h"
#include "base/mapped_file.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;

/// In the order in which they are looked for: the first says most about the pipeline.
constexpr std::array<const char*, 5> kNames = {"tokenizer.json", "tekken.json", "tokenizer.model",
                                               "tiktoken.model", "vocab.txt"};
/// The largest known vocabulary that is no JSON has 5 MB.
constexpr std::size_t kLargestVocabulary = std::size_t{256} << 20;

Result<Json> read_json_file(const fs::path& path) {
  const std::string text = TRY(read_file(path));
  // Python writes model_max_length as a float beyond any integer, or as Infinity.
  return parse_json(text, path.string(), {.allow_non_finite = true});
}

Result<fs::path> find_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (fs::exists(path, error)) {
      return path;
    }
    return not_found("there is no tokenizer at " + path.string(),
                     "name a folder with tokenizer.json, or a vocabulary file itself");
  }
  std::string looked_for;
  for (const char* const name : kNames) {
    if (fs::exists(path / name, error)) {
      return path / name;
    }
    looked_for += (looked_for.empty() ? "" : ", ") + std::string(name);
  }
  return not_found("there is no tokenizer in " + path.string() + " (looked for " + looked_for + ")",
                   "name a folder with one of them, or the file itself");
}

/// Some vocabularies of ranks are called tokenizer.model too: "IQ== 0", where a message of
/// SentencePiece begins with a byte that no base64 has.
bool is_tiktoken(std::string_view content) {
  const std::string_view line = content.substr(0, content.find('\n'));
  const auto printable = [](char c) { return c > ' ' && c < '\x7F'; };
  const std::size_t space = line.find(' ');
  return space != std::string_view::npos && space > 0 && printable(line[0]) &&
         line.find_first_not_of("0123456789\r", space + 1) == std::string_view::npos;
}

Result<Tokenizer> read_tokenizer(const fs::path& file, const Json* config) {
  if (file.extension() == ".json") {
    const Json json = TRY(read_json_file(file));
    // tekken.json is the one with its tokens at the root.
    return json.find("model") == nullptr && json.find("vocab") != nullptr
               ? Tokenizer::from_tekken(json, config)
               : Tokenizer::from_json(json, config);
  }
  const std::string content = TRY(read_file(file, kLargestVocabulary));
  if (file.extension() == ".txt") {
    return Tokenizer::from_vocab_txt(content, config);
  }
  return is_tiktoken(content) ? Tokenizer::from_tiktoken(content, config)
                              : Tokenizer::from_sentencepiece(content, config);
}

}  // namespace

Result<Tokenizer> load_tokenizer(const fs::path& path) {
  const fs::path file = TRY(find_file(path));
  const fs::path config_file = file.parent_path() / "tokenizer_config.json";
  std::error_code error;
  std::optional<Json> config;
  if (fs::exists(config_file, error)) {
    config = TRY(read_json_file(config_file));
  }
  return read_tokenizer(file, config ? &*config : nullptr);
}

}  // namespace godwit
