#include "text/chat_template_files.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/status.h"
#include "text/chat_template.h"

namespace godwit {
namespace {

constexpr std::size_t kMaxTemplateBytes = std::size_t{16} << 20U;
constexpr std::size_t kMaxConfigBytes = std::size_t{256} << 20U;

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

Result<Json> read_json(const std::filesystem::path& path) {
  const std::string text = TRY(read_file(path, kMaxConfigBytes));
  return parse_json(text, path.string(), {.allow_non_finite = true});
}

/// Adds the tokens that are not there yet.
void add_tokens(SpecialTokens& tokens, SpecialTokens more) {
  for (auto& token : more) {
    const bool known = std::any_of(tokens.begin(), tokens.end(),
                                   [&](const auto& old) { return old.first == token.first; });
    if (!known) {
      tokens.push_back(std::move(token));
    }
  }
}

Status add_config(ChatTemplateFiles& files, const std::filesystem::path& path) {
  const Json config = TRY(read_json(path));
  add_tokens(files.tokens, read_special_tokens(config));
  if (!files.source) {
    files.source = TRY(choose_chat_template(config, false));
    files.tool_source = TRY(choose_chat_template(config, true));
  }
  return {};
}

}  // namespace

Result<ChatTemplateFiles> read_chat_template_files(const std::filesystem::path& path) {
  ChatTemplateFiles files;
  if (!is_there(path)) {
    return not_found("there is no chat template at " + path.string(),
                     "name a .jinja file, a tokenizer_config.json, or a folder with one of them");
  }
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    if (path.extension() == ".json") {
      TRY(add_config(files, path));
    } else {
      files.source = TRY(read_file(path, kMaxTemplateBytes));
    }
    return files;
  }
  if (is_there(path / "chat_template.jinja")) {
    files.source = TRY(read_file(path / "chat_template.jinja", kMaxTemplateBytes));
    const std::filesystem::path tools = path / "additional_chat_templates" / "tool_use.jinja";
    if (is_there(tools)) {
      files.tool_source = TRY(read_file(tools, kMaxTemplateBytes));
    }
  }
  if (is_there(path / "tokenizer_config.json")) {
    TRY(add_config(files, path / "tokenizer_config.json"));
  }
  if (is_there(path / "special_tokens_map.json")) {
    add_tokens(files.tokens, read_special_tokens(TRY(read_json(path / "special_tokens_map.json"))));
  }
  return files;
}

}  // namespace godwit
