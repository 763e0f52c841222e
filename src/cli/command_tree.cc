#include "cli/command_tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>

namespace godwit {
namespace {

/// The words of "TEXT:{a,b}", which is how CLI11 shows a value that must be one of a set.
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> choices;
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}', open);
  if (open == std::string::npos || close == std::string::npos) {
    return choices;
  }
  std::size_t begin = open + 1;
  while (begin <= close) {
    const std::size_t end = std::min(type.find(',', begin), close);
    choices.push_back(type.substr(begin, end - begin));
    begin = end + 1;
  }
  return choices;
}

FlagDescription describe_flag(const CLI::Option& option) {
  FlagDescription flag;
  for (const std::string& name : option.get_snames()) {
    flag.names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    flag.names.push_back("--" + name);
  }
  const std::string type = option.get_type_name();
  if (option.get_positional()) {
    flag.value = option.get_name(true);
  } else if (option.get_items_expected_max() > 0) {
    flag.value = type.substr(0, type.find_first_of(":{ "));
  }
  flag.help = option.get_description();
  flag.default_text = option.get_default_str();
  flag.choices = choices_of(type);
  flag.environment = option.get_envname();
  flag.required = option.get_required();
  return flag;
}

}  // namespace

CommandDescription describe_command(const CLI::App& app) {
  CommandDescription command;
  command.name = app.get_name();
  command.help = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) {
      continue;
    }
    FlagDescription flag = describe_flag(*option);
    if (option->get_positional()) {
      command.positionals.push_back(flag);
    }
    if (!flag.names.empty()) {
      command.flags.push_back(std::move(flag));
    }
  }
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!child->get_group().empty()) {
      command.commands.push_back(describe_command(*child));
    }
  }
  return command;
}

}  // namespace godwit
