#include "cli/text_commands.h"

#include <cstdio>
#include <filesystem>

#include "cli/gguf_text.h"
#include "cli/model_source.h"
#include "cli/render.h"
#include "cli/text_assets.h"

namespace godwit {
namespace {

Status render_gguf(const RenderCommand& command) {
  const GgufFile file = TRY(GgufFile::open(command.path));
  const std::optional<std::string> source = TRY(gguf_chat_template(file));
  if (!source) {
    return not_found(command.path + " holds no chat template");
  }
  SpecialTokens tokens = gguf_special_tokens(file);
  override_tokens(tokens, command.variables);
  const ChatTemplate chat_template = TRY(ChatTemplate::create(*source, std::move(tokens)));
  return render_lines(chat_template, TRY(parse_time(command.now)), stdin, stdout);
}

}  // namespace

Status tokenize_command(const TokenizeCommand& command) {
  const std::string path = TRY(locate_text(command.path, command.hub));
  const Tokenizer tokenizer = TRY(open_tokenizer(path));
  return run_tokenize(tokenizer, command.encode, stdin, stdout);
}

Status detokenize_command(const TokenizeCommand& command) {
  const std::string path = TRY(locate_text(command.path, command.hub));
  const Tokenizer tokenizer = TRY(open_tokenizer(path));
  return run_detokenize(tokenizer, command.decode, stdin, stdout);
}

Status render_command(const RenderArguments& arguments) {
  RenderCommand command;
  command.path = TRY(locate_text(arguments.path, arguments.hub));
  command.now = arguments.now;
  for (const std::string& variable : arguments.variables) {
    command.variables.push_back(TRY(parse_variable(variable)));
  }
  if (std::filesystem::path(command.path).extension() == ".gguf") {
    return render_gguf(command);
  }
  return run_render(command, stdin, stdout);
}

}  // namespace godwit
