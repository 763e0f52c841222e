#pragma once
// What a model brings for text: tokenizer, chat template, end-of-sequence ids and sampling
// defaults.

#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "cli/options.h"
#include "request/sampling_params.h"
#include "runner/load_model.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace godwit {

struct TextAssets {
  std::shared_ptr<const Tokenizer> tokenizer;         ///< Null with --skip-tokenizer-init.
  std::shared_ptr<const ChatTemplate> chat_template;  ///< Null when the model has none.
  std::vector<TokenId> eos_ids;
  SamplingParams defaults;
  std::optional<std::int64_t> max_output_tokens;  ///< generation_config.json's max_new_tokens.
};

/// Errors: a file that is missing or wrong, named with what to do.
Result<TextAssets> load_text_assets(const ModelFiles& files, const ModelOptions& options);

/// The tokenizer of a folder, a tokenizer.json or a .gguf file.
Result<Tokenizer> open_tokenizer(const std::filesystem::path& path);

}  // namespace godwit
