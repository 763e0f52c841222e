#pragma once
// Finds the chat template of a checkpoint among its files.

#include <filesystem>
#include <optional>
#include <string>

#include "base/status.h"
#include "text/chat_template.h"

namespace godwit {

struct ChatTemplateFiles {
  std::optional<std::string> source;       ///< Nothing when the checkpoint has no template.
  std::optional<std::string> tool_source;  ///< The one for requests with tools, when it is another.
  SpecialTokens tokens;
};

/// Reads a .jinja file as it is, a tokenizer_config.json, or a folder: there chat_template.jinja
/// goes before tokenizer_config.json, which special_tokens_map.json completes. Errors: kNotFound;
/// kInvalidArgument for a file that is not what it should be.
Result<ChatTemplateFiles> read_chat_template_files(const std::filesystem::path& path);

}  // namespace godwit
