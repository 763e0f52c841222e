#pragma once
// The program's commands and flags as plain data, from which its man page and its shell completion
// are written.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace godwit {

struct FlagDescription {
  std::vector<std::string> names;  ///< "--port"; empty for a positional argument.
  std::string value;               ///< What follows: "TEXT", "INT", a positional's name; or empty.
  std::string help;
  std::string default_text;
  std::vector<std::string> choices;  ///< The only values allowed; empty = any.
  std::string environment;           ///< A variable that sets it.
  bool required = false;
};

struct CommandDescription {
  std::string name;
  std::string help;
  std::vector<FlagDescription> flags;
  std::vector<FlagDescription> positionals;
  std::vector<CommandDescription> commands;
};

/// Reads what CLI11 was told. Hidden commands and flags are left out.
CommandDescription describe_command(const CLI::App& app);

}  // namespace godwit
