#pragma once
// The commands tokenize, detokenize and render for any source of text assets, .gguf files included.

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/options.h"
#include "cli/tokenize.h"

namespace godwit {

struct TokenizeCommand {
  std::string path;  ///< A folder, a tokenizer file, a .gguf file or ORG/NAME.
  HubFlags hub;
  EncodeOptions encode;
  DetokenizeOptions decode;
};

struct RenderArguments {
  std::string path;  ///< Template, tokenizer_config.json, folder, .gguf file or ORG/NAME.
  HubFlags hub;
  std::vector<std::string> variables;  ///< NAME=VALUE
  std::string now;                     ///< Empty = the system's time.
};

// They read standard input and write standard output, line by line.
Status tokenize_command(const TokenizeCommand& command);
Status detokenize_command(const TokenizeCommand& command);
Status render_command(const RenderArguments& arguments);

}  // namespace godwit
