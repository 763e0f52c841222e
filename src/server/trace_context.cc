#include "server/trace_context.h"

#include <algorithm>
#include <string_view>

namespace godwit {
namespace {

// version "-" trace-id "-" parent-id "-" flags, each in lower-case hexadecimal digits.
constexpr std::size_t kVersionSize = 2;
constexpr std::size_t kTraceSize = 32;
constexpr std::size_t kParentSize = 16;
constexpr std::size_t kFlagsSize = 2;
constexpr std::size_t kTraceAt = kVersionSize + 1;
constexpr std::size_t kParentAt = kTraceAt + kTraceSize + 1;
constexpr std::size_t kFlagsAt = kParentAt + kParentSize + 1;
constexpr std::size_t kParentHeaderSize = kFlagsAt + kFlagsSize;
constexpr std::size_t kMaxStateMembers = 32;
constexpr std::size_t kMaxStateSize = 512;
constexpr std::size_t kMaxKeySize = 256;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) {
  return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

/// The only field of that name; null pointer when there is none or there are several.
const std::string* only_header(const HttpRequest& request, std::string_view name) {
  const std::string* found = nullptr;
  for (const HttpHeader& header : request.headers) {
    if (equal_ignoring_case(header.name, name)) {
      if (found != nullptr) {
        return nullptr;
      }
      found = &header.value;
    }
  }
  return found;
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

bool is_key(std::string_view key) {
  return !key.empty() && key.size() <= kMaxKeySize &&
         std::all_of(key.begin(), key.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                  c == '*' || c == '/' || c == '@';
         });
}

bool is_value(std::string_view value) {
  return !value.empty() && value.size() <= kMaxKeySize &&
         std::all_of(value.begin(), value.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; });
}

/// Joins the members of all the fields; empty when one of them is malformed.
std::string read_state(const HttpRequest& request) {
  std::string state;
  std::size_t members = 0;
  for (const HttpHeader& header : request.headers) {
    if (!equal_ignoring_case(header.name, "tracestate")) {
      continue;
    }
    std::string_view rest = header.value;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view member = trim(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      if (member.empty()) {
        continue;
      }
      const std::size_t equals = member.find('=');
      if (equals == std::string_view::npos || !is_key(member.substr(0, equals)) ||
          !is_value(member.substr(equals + 1)) || ++members > kMaxStateMembers) {
        return {};
      }
      state.append(state.empty() ? "" : ",").append(member);
    }
  }
  return state.size() <= kMaxStateSize ? state : std::string();
}

}  // namespace

std::optional<TraceContext> read_trace_context(const HttpRequest& request) {
  const std::string* header = only_header(request, "traceparent");
  if (header == nullptr || header->size() < kParentHeaderSize) {
    return std::nullopt;
  }
  const std::string_view text = *header;
  const std::string_view version = text.substr(0, kVersionSize);
  const std::string_view trace = text.substr(kTraceAt, kTraceSize);
  const std::string_view parent = text.substr(kParentAt, kParentSize);
  const std::string_view flags = text.substr(kFlagsAt, kFlagsSize);
  // A later version may add fields behind these.
  const bool size_fits =
      text.size() == kParentHeaderSize || (version != "00" && text[kParentHeaderSize] == '-');
  if (!is_hex(version) || version == "ff" || !size_fits || text[kTraceAt - 1] != '-' ||
      text[kParentAt - 1] != '-' || text[kFlagsAt - 1] != '-' || !is_id(trace) || !is_id(parent) ||
      !is_hex(flags)) {
    return std::nullopt;
  }
  return TraceContext{.trace_id = std::string(trace),
                      .parent_id = std::string(parent),
                      .flags = std::string(flags),
                      .state = read_state(request)};
}

}  // namespace godwit
