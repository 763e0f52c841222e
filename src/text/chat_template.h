#pragma once
// The chat template of a checkpoint: from messages to the text of the prompt, as Hugging Face's
// apply_chat_template(tokenize=False) gives it. Parsed once, rendered for each request.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "text/jinja/template.h"

namespace godwit {

/// Variables such as bos_token that every render sees, in order of definition.
using SpecialTokens = std::vector<std::pair<std::string, std::string>>;

/// What one prompt is made of. The pointed-to values must live as long as the call of render().
struct ChatInput {
  const Json* messages = nullptr;   ///< An array of objects.
  const Json* tools = nullptr;      ///< None to the template when absent.
  const Json* documents = nullptr;  ///< None to the template when absent.
  bool add_generation_prompt = false;
  /// Leaves the last message open, for the model to go on with.
  bool continue_final_message = false;
  /// Further variables, for example enable_thinking; an object, or null. They override the special
  /// tokens, but none of the above.
  const Json* variables = nullptr;
  jinja::LocalTime now;
};

class ChatTemplate {
 public:
  /// Parses a template, and the one for requests with tools when that is another.
  /// Errors: kInvalidArgument, see jinja::describe().
  static Result<ChatTemplate> create(std::string_view source, SpecialTokens tokens,
                                     const std::optional<std::string>& tool_source = std::nullopt);

  /// Another template with the same special tokens. Errors: as create().
  [[nodiscard]] Result<ChatTemplate> with_source(std::string_view source) const;

  /// Renders one prompt. Errors: kInvalidArgument with what the template or the input is to blame
  /// for; jinja::describe() tells which. TemplateError is the template's own refusal.
  /// Threading: may run in several threads at once.
  [[nodiscard]] Result<std::string> render(const ChatInput& input) const;

  /// Holds when the template looks at a variable, for example enable_thinking.
  [[nodiscard]] bool mentions(std::string_view name) const;

 private:
  ChatTemplate(jinja::Template parsed, std::optional<jinja::Template> tool_template,
               SpecialTokens tokens);

  jinja::Template template_;
  std::optional<jinja::Template> tool_template_;
  std::vector<std::pair<std::string, Json>> tokens_;
};

/// Chooses the source among what tokenizer_config.json's `chat_template` holds: a string, or a list
/// of {"name", "template"}, of which "tool_use" is meant for requests with tools and "default" for
/// the others. Nothing when there is none. Errors: kInvalidArgument for another form.
Result<std::optional<std::string>> choose_chat_template(const Json& tokenizer_config,
                                                        bool with_tools);

/// Reads the special tokens of tokenizer_config.json or special_tokens_map.json, each a string or
/// an object with `content`.
SpecialTokens read_special_tokens(const Json& config);

}  // namespace godwit
