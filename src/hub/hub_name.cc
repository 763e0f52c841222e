#include "hub/hub_name.h"

#include <algorithm>

namespace godwit {
namespace {

constexpr std::size_t kLongestPart = 96;
constexpr std::size_t kLongestRevision = 256;
constexpr std::size_t kLongestFileName = 1024;
constexpr std::size_t kLongestComponent = 255;  // What file systems take.
constexpr std::size_t kDeepestFile = 16;
constexpr std::size_t kLongestShown = 120;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_word(char c) {
  return is_alphanumeric(c) || c == '_';
}

bool is_repository_part(std::string_view part) {
  return !part.empty() && part.size() <= kLongestPart && is_word(part.front()) &&
         is_word(part.back()) && std::all_of(part.begin(), part.end(), [](char c) {
           return is_word(c) || c == '-' || c == '.';
         });
}

bool is_repository(std::string_view text) {
  if (text.find("--") != std::string_view::npos || text.find("..") != std::string_view::npos ||
      text.ends_with(".git") || text.ends_with(".gguf")) {
    return false;
  }
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && is_repository_part(text.substr(0, slash)) &&
         is_repository_part(text.substr(slash + 1));
}

/// Calls `accept` for each part between slashes; false as soon as one is refused.
template <class Accept>
bool all_parts(std::string_view text, const Accept& accept) {
  while (true) {
    const std::size_t slash = text.find('/');
    if (!accept(text.substr(0, slash))) {
      return false;
    }
    if (slash == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(slash + 1);
  }
}

}  // namespace

bool is_revision(std::string_view text) {
  return text.size() <= kLongestRevision && all_parts(text, [](std::string_view part) {
           return !part.empty() && part.front() != '.' && part.front() != '-' &&
                  part.find("..") == std::string_view::npos &&
                  std::all_of(part.begin(), part.end(), [](char c) {
                    return is_word(c) || c == '-' || c == '.' || c == '+';
                  });
         });
}

bool is_commit(std::string_view text) {
  return text.size() == 40 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool is_safe_file_name(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f && c != '\\';
  });
  const auto depth = static_cast<std::size_t>(std::count(name.begin(), name.end(), '/'));
  return plain && name.size() <= kLongestFileName && depth < kDeepestFile &&
         all_parts(
             name,
             [](std::string_view part) {
               return !part.empty() && part != "." && part != ".." &&
                      part.size() <= kLongestComponent;
             });
}

std::optional<HubName> parse_hub_name(std::string_view text) {
  HubName name;
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    name.file = text.substr(colon + 1);
    text = text.substr(0, colon);
    if (!is_safe_file_name(name.file)) {
      return std::nullopt;
    }
  }
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    name.revision = text.substr(at + 1);
    text = text.substr(0, at);
    if (!is_revision(name.revision)) {
      return std::nullopt;
    }
  }
  if (!is_repository(text)) {
    return std::nullopt;
  }
  name.repository = text;
  return name;
}

std::string printable(std::string_view text) {
  std::string shown(text.substr(0, kLongestShown));
  std::replace_if(shown.begin(), shown.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text.size() > kLongestShown ? shown + "..." : shown;
}

}  // namespace godwit
