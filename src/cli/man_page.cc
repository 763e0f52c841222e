#include "cli/man_page.h"

namespace godwit {
namespace {

/// Text that troff prints as it is.
std::string escape(std::string_view text) {
  std::string out;
  for (const char character : text) {
    if (character == '\\') {
      out += "\\e";
    } else if (character == '-') {
      out += "\\-";
    } else if (character == '.' && out.empty()) {
      out += "\\&.";
    } else if (character == '\'') {
      out += "\\(aq";
    } else {
      out += character;
    }
  }
  return out;
}

std::string italic(std::string_view text) {
  return "\\fI" + escape(text) + "\\fR";
}
std::string bold(std::string_view text) {
  return "\\fB" + escape(text) + "\\fR";
}

void add_flag(std::string& page, const FlagDescription& flag) {
  page += ".TP\n";
  std::string head;
  for (const std::string& name : flag.names) {
    head += (head.empty() ? "" : ", ") + bold(name);
  }
  if (!flag.value.empty()) {
    head += (head.empty() ? "" : " ") + italic(flag.value);
  }
  page += head + "\n" + escape(flag.help) + ".\n";
  if (!flag.choices.empty()) {
    page += "One of:";
    for (const std::string& choice : flag.choices) {
      page += " " + bold(choice);
    }
    page += ".\n";
  }
  if (!flag.default_text.empty()) {
    page += "Default: " + bold(flag.default_text) + ".\n";
  }
  if (!flag.environment.empty()) {
    page += "Also set by the environment variable " + bold(flag.environment) + ".\n";
  }
}

void add_command(std::string& page, const CommandDescription& command, const std::string& path) {
  const std::string name = path + " " + command.name;
  page += ".SS " + escape(name) + "\n" + escape(command.help) + ".\n";
  for (const FlagDescription& positional : command.positionals) {
    if (positional.names.empty()) {
      add_flag(page, positional);
    }
  }
  for (const FlagDescription& flag : command.flags) {
    add_flag(page, flag);
  }
  for (const CommandDescription& child : command.commands) {
    add_command(page, child, name);
  }
}

void add_synopsis(std::string& page, const CommandDescription& command, const std::string& path) {
  const std::string name = path + " " + command.name;
  if (!command.commands.empty()) {
    for (const CommandDescription& child : command.commands) {
      add_synopsis(page, child, name);
    }
    return;
  }
  page += ".br\n" + bold(name);
  for (const FlagDescription& positional : command.positionals) {
    page += " " +
            (positional.required ? italic(positional.value) : "[" + italic(positional.value) + "]");
  }
  page += " [" + italic("flags") + "]\n";
}

}  // namespace

std::string write_man_page(const CommandDescription& program, std::string_view version) {
  std::string page =
      ".TH GODWIT 1 \"\" \"godwit " + std::string(version) + "\" \"User Commands\"\n";
  page += ".SH NAME\ngodwit \\- serve large language models\n.SH SYNOPSIS\n";
  std::string lines;
  for (const CommandDescription& command : program.commands) {
    add_synopsis(lines, command, program.name);
  }
  page += lines.substr(lines.find('\n') + 1);  // Without the first line break.
  page += ".SH DESCRIPTION\n" + escape(program.help) +
          ": it loads a checkpoint or a GGUF file, answers the OpenAI API and batches requests "
          "continuously.\n.SH OPTIONS\n";
  for (const FlagDescription& flag : program.flags) {
    add_flag(page, flag);
  }
  page += ".SH COMMANDS\n";
  for (const CommandDescription& command : program.commands) {
    add_command(page, command, program.name);
  }
  page +=
      ".SH EXIT STATUS\n0 when all went well, 2 for a wrong command line, 1 for any other "
      "failure.\n"
      ".SH FILES\n.TP\n" +
      italic("~/.local/state/godwit/history") + "\nWhat was typed into " + bold("godwit run") +
      "; below " + bold("XDG_STATE_HOME") + " when that is set.\n";
  return page;
}

}  // namespace godwit
