#include "text/tokenizer_files.h"

#include <optional>
#include <system_error>

#include "base/json.h"
#include "base/mapped_file.h"

namespace godwit {
namespace {

Result<Json> read_json_file(const std::filesystem::path& path) {
  const std::string text = TRY(read_file(path));
  // Python writes model_max_length as a float beyond any integer, or as Infinity.
  return parse_json(text, path.string(), {.allow_non_finite = true});
}

}  // namespace

Result<Tokenizer> load_tokenizer(const std::filesystem::path& path) {
  std::error_code error;
  const bool folder = std::filesystem::is_directory(path, error);
  const std::filesystem::path file = folder ? path / "tokenizer.json" : path;
  if (!std::filesystem::exists(file, error)) {
    return not_found("there is no tokenizer at " + file.string(),
                     "name a folder with tokenizer.json, or the file itself");
  }
  const Json tokenizer_json = TRY(read_json_file(file));
  const std::filesystem::path config_file = file.parent_path() / "tokenizer_config.json";
  std::optional<Json> config;
  if (std::filesystem::exists(config_file, error)) {
    config = TRY(read_json_file(config_file));
  }
  return Tokenizer::from_json(tokenizer_json, config ? &*config : nullptr);
}

}  // namespace godwit
