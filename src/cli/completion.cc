#include "cli/completion.h"

#include <functional>
#include <string_view>

namespace godwit {
namespace {

/// A word in single quotes; a quote in it is closed, escaped and opened again.
std::string quote(std::string_view text) {
  std::string out = "'";
  for (const char character : text) {
    if (character == '\'') {
      out += "'\\''";
    } else {
      out += character;
    }
  }
  return out + "'";
}

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

/// Calls `visit` for the program and every command below it, with the words that lead there.
void walk(const CommandDescription& command, const std::string& path,
          const std::function<void(const CommandDescription&, const std::string&)>& visit) {
  visit(command, path);
  for (const CommandDescription& child : command.commands) {
    walk(child, path.empty() ? child.name : path + " " + child.name, visit);
  }
}

std::vector<std::string> command_names(const CommandDescription& command) {
  std::vector<std::string> names;
  for (const CommandDescription& child : command.commands) {
    names.push_back(child.name);
  }
  return names;
}

/// A command's first positional argument with choices; null when there is none.
const FlagDescription* chosen_positional(const CommandDescription& command) {
  for (const FlagDescription& positional : command.positionals) {
    if (!positional.choices.empty()) {
      return &positional;
    }
  }
  return nullptr;
}

std::string write_bash(const CommandDescription& program) {
  std::string paths;
  std::string cases;
  walk(program, "", [&](const CommandDescription& command, const std::string& path) {
    std::vector<std::string> flags;
    std::string values;
    for (const FlagDescription& flag : command.flags) {
      flags.insert(flags.end(), flag.names.begin(), flag.names.end());
      if (flag.value.empty()) {
        continue;
      }
      std::string names;
      for (const std::string& name : flag.names) {
        names += (names.empty() ? "" : "|") + name;
      }
      values += "        " + names + ") " +
                (flag.choices.empty() ? std::string("files=1; return")
                                      : "words=" + quote(join(flag.choices)) + "; return") +
                " ;;\n";
    }
    if (!path.empty()) {
      paths += (paths.empty() ? "" : "|") + quote(path);
    }
    const FlagDescription* chosen = chosen_positional(command);
    std::vector<std::string> words = command_names(command);
    if (chosen != nullptr) {
      words = chosen->choices;
    }
    cases += "    " + quote(path) + ")\n      case $previous in\n" + values +
             "      esac\n      flags=" + quote(join(flags)) +
             "\n      words=" + quote(join(words)) + "\n      files=" + (words.empty() ? "1" : "") +
             " ;;\n";
  });
  return "# bash completion for godwit\n"
         "_godwit_candidates() {\n"
         "  case $path in\n" +
         cases +
         "  esac\n}\n"
         "_godwit() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local path= next flags= words= files= i\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    next=\"${path:+$path }${COMP_WORDS[i]}\"\n"
         "    case $next in\n      " +
         paths +
         ") path=$next ;;\n    esac\n  done\n"
         "  _godwit_candidates\n"
         "  [[ $word == -* ]] && words=$flags files=\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  if [[ -n $files && ${#COMPREPLY[@]} -eq 0 ]]; then\n"
         "    compopt -o filenames 2>/dev/null\n"
         "    local IFS=$'\\n'\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n}\n"
         "complete -F _godwit godwit\n";
}

/// A description for zsh's _arguments, where brackets and colons have a meaning.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char character : text) {
    if (character == '[' || character == ']' || character == ':' || character == '\\') {
      out += '\\';
    }
    out += character;
  }
  return out;
}

std::string zsh_action(const FlagDescription& flag) {
  return ":" + zsh_text(flag.value) + ":" +
         (flag.choices.empty() ? std::string("_files") : "(" + join(flag.choices) + ")");
}

std::string write_zsh(const CommandDescription& program) {
  std::string functions;
  walk(program, "", [&](const CommandDescription& command, const std::string& path) {
    std::string name = "_godwit" + (path.empty() ? std::string() : "_" + path);
    for (char& character : name) {
      character = character == ' ' ? '_' : character;
    }
    functions += name + "() {\n";
    std::string specs;
    for (const FlagDescription& flag : command.flags) {
      for (const std::string& flag_name : flag.names) {
        specs += " \\\n    " + quote(flag_name + "[" + zsh_text(flag.help) + "]" +
                                     (flag.value.empty() ? "" : zsh_action(flag)));
      }
    }
    if (command.commands.empty()) {
      for (const FlagDescription& positional : command.positionals) {
        specs += " \\\n    " + quote(":" + zsh_action(positional));
      }
      functions += "  _arguments" + specs + "\n}\n";
      return;
    }
    functions += "  local line state\n  _arguments -C" + specs +
                 " \\\n    '1:command:->command' '*::argument:->argument'\n"
                 "  case $state in\n    command)\n      local -a commands=(";
    for (const CommandDescription& child : command.commands) {
      functions += "\n        " + quote(child.name + ":" + zsh_text(child.help));
    }
    functions += ")\n      _describe command commands ;;\n    argument)\n      case $line[1] in\n";
    for (const CommandDescription& child : command.commands) {
      functions += "        " + child.name + ") " + name + "_" + child.name + " ;;\n";
    }
    functions += "      esac ;;\n  esac\n}\n";
  });
  return "#compdef godwit\n" + functions +
         "if [[ $funcstack[1] == _godwit ]]; then\n  _godwit \"$@\"\nelse\n"
         "  compdef _godwit godwit\nfi\n";
}

std::string write_fish(const CommandDescription& program) {
  std::string out =
      "# fish completion for godwit\n"
      "function __godwit_at\n"
      "  set -l path\n"
      "  for word in (commandline -opc)[2..]\n"
      "    string match -q -- '-*' $word; or set -a path $word\n"
      "  end\n"
      "  set -l length (count $argv)\n"
      "  if test $length -eq 0\n"
      "    test (count $path) -eq 0\n"
      "    return\n"
      "  end\n"
      "  test (count $path) -ge $length; or return 1\n"
      "  test \"$path[1..$length]\" = \"$argv\"\n"
      "end\n";
  walk(program, "", [&out](const CommandDescription& command, const std::string& path) {
    const std::string start = "complete -c godwit -n " + quote("__godwit_at " + path);
    for (const FlagDescription& flag : command.flags) {
      out += start;
      for (const std::string& name : flag.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!flag.choices.empty()) {
        out += " -x -a " + quote(join(flag.choices));
      } else if (!flag.value.empty()) {
        out += " -r";
      }
      out += " -d " + quote(flag.help) + "\n";
    }
    for (const CommandDescription& child : command.commands) {
      out += start + " -f -a " + child.name + " -d " + quote(child.help) + "\n";
    }
    if (const FlagDescription* chosen = chosen_positional(command)) {
      out += start + " -f -a " + quote(join(chosen->choices)) + "\n";
    }
  });
  return out;
}

}  // namespace

Result<std::string> write_completion(const CommandDescription& program, const std::string& shell) {
  if (shell == "bash") {
    return write_bash(program);
  }
  if (shell == "zsh") {
    return write_zsh(program);
  }
  if (shell == "fish") {
    return write_fish(program);
  }
  return invalid_argument("there is no completion for " + shell, "give bash, zsh or fish");
}

}  // namespace godwit
