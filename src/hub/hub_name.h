#pragma once
// How a model of a hub is named on the command line: ORG/NAME[@REVISION][:FILE].
// The few old models without an owner have one, too, under which the hub finds them.

#include <optional>
#include <string>
#include <string_view>

namespace godwit {

struct HubName {
  std::string repository;  ///< "ORG/NAME"
  std::string revision;    ///< A branch, tag or commit; empty when the name has none.
  std::string file;  ///< After the colon: a .gguf file or a quantisation such as Q4_K_M; or "".
};

/// Splits a name; nothing when no hub would take it (the rules of huggingface_hub: letters, digits,
/// '-', '_' and '.', at most 96 a part, no "--" and no "..") or when it is rather the path of a
/// .gguf file. It does not look at the disk.
std::optional<HubName> parse_hub_name(std::string_view text);

/// Whether `text` can name a branch, a tag or a commit: slashes are fine, "..", an empty part, a
/// leading '.' or '-' and characters that need quoting are not.
bool is_revision(std::string_view text);

/// 40 hexadecimal digits.
bool is_commit(std::string_view text);

/// Whether `name` is a path below the repository's root that can safely be one below a folder: no
/// absolute path, no "." or "..", no empty part, no backslash or control character, bounded.
bool is_safe_file_name(std::string_view name);

/// Text from a server for a message: control characters and what is not ASCII become '?', and long
/// text is cut.
std::string printable(std::string_view text);

}  // namespace godwit
