#include "cli/tokenize.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/line_reader.h"

namespace godwit {
namespace {

/// The member that a line must have.
Result<Json> member_of(std::string_view line, std::string_view place, std::string_view key) {
  const Json json = TRY(parse_json(line, place));
  const Json* const member = json.find(key);
  if (member == nullptr) {
    return invalid_argument(std::string(place) + " has no \"" + std::string(key) + "\"");
  }
  return *member;
}

Result<Json> encode_line(const Tokenizer& tokenizer, const EncodeOptions& options,
                         std::string_view line, std::string_view place) {
  const Json text = TRY(member_of(line, place, "text"));
  if (!text.is_string()) {
    return invalid_argument(std::string(place) + ": \"text\" must be a string, and is of type " +
                            std::string(text.kind()));
  }
  JsonArray ids;
  for (const TokenId id : tokenizer.encode(text.as_string(), options)) {
    ids.emplace_back(id);
  }
  return Json(JsonObject{{"ids", std::move(ids)}});
}

Result<Json> decode_line(const Tokenizer& tokenizer, const DetokenizeOptions& options,
                         std::string_view line, std::string_view place) {
  const Json list = TRY(member_of(line, place, "ids"));
  if (!list.is_array()) {
    return invalid_argument(std::string(place) + ": \"ids\" must be an array, and is of type " +
                            std::string(list.kind()));
  }
  std::vector<TokenId> ids;
  for (const Json& element : list.as_array()) {
    const std::optional<std::int64_t> id = element.to_int64();
    if (!id || *id < 0) {
      return invalid_argument(std::string(place) + ": \"ids\" has " + to_json(element) +
                              ", which is no token id");
    }
    // An id beyond the vocabulary decodes to nothing, however large it is.
    if (*id <= std::numeric_limits<TokenId>::max()) {
      ids.push_back(static_cast<TokenId>(*id));
    }
  }
  return Json(JsonObject{{"text", tokenizer.decode(ids, options.skip_special_tokens)}});
}

/// Calls `convert` for each line and writes what it returns.
template <class Convert>
Status for_each_line(std::FILE* in, std::FILE* out, const Convert& convert) {
  LineReader reader(in);
  std::int64_t number = 0;
  while (const std::optional<std::string_view> line = reader.next()) {
    const Result<Json> answer = convert(*line, "line " + std::to_string(++number));
    const Json json =
        answer.ok() ? *answer : Json(JsonObject{{"error", answer.status().message()}});
    if (std::fputs((to_json(json) + "\n").c_str(), out) < 0) {
      return internal_error("cannot write the output");
    }
  }
  if (std::ferror(in) != 0) {
    return internal_error("cannot read the input");
  }
  return std::fflush(out) == 0 ? Status() : internal_error("cannot write the output");
}

}  // namespace

Status run_tokenize(const Tokenizer& tokenizer, const EncodeOptions& options, std::FILE* in,
                    std::FILE* out) {
  return for_each_line(in, out, [&](std::string_view line, std::string_view place) {
    return encode_line(tokenizer, options, line, place);
  });
}

Status run_detokenize(const Tokenizer& tokenizer, const DetokenizeOptions& options, std::FILE* in,
                      std::FILE* out) {
  return for_each_line(in, out, [&](std::string_view line, std::string_view place) {
    return decode_line(tokenizer, options, line, place);
  });
}

}  // namespace godwit
