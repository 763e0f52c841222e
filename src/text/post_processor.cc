#include "text/post_processor.h"

namespace godwit {

PostProcessor surround(std::optional<TokenId> begin, std::optional<TokenId> end) {
  PostProcessor result{{}, {}};
  const auto add = [&](std::vector<TemplatePart>& parts, TemplatePart::Kind text,
                       std::int32_t type_id) {
    if (begin) {
      parts.push_back({TemplatePart::Kind::kTokens, {*begin}, type_id});
    }
    parts.push_back({text, {}, type_id});
    if (end) {
      parts.push_back({TemplatePart::Kind::kTokens, {*end}, type_id});
    }
  };
  add(result.single, TemplatePart::Kind::kFirst, 0);
  add(result.pair, TemplatePart::Kind::kFirst, 0);
  add(result.pair, TemplatePart::Kind::kSecond, 1);
  return result;
}

PostProcessor bert_template(TokenId begin, TokenId end) {
  const TemplatePart first{TemplatePart::Kind::kFirst, {}, 0};
  const TemplatePart second{TemplatePart::Kind::kSecond, {}, 1};
  const TemplatePart begin_part{TemplatePart::Kind::kTokens, {begin}, 0};
  const TemplatePart end_part{TemplatePart::Kind::kTokens, {end}, 0};
  const TemplatePart second_end{TemplatePart::Kind::kTokens, {end}, 1};
  return {{begin_part, first, end_part}, {begin_part, first, end_part, second, second_end}};
}

}  // namespace godwit
