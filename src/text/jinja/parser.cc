#include "text/jinja/parser.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/budget.h"
#include "text/jinja/checker.h"
#include "text/jinja/error.h"
#include "text/jinja/lexer.h"
#include "text/jinja/parser_state.h"

namespace godwit::jinja {

Token Parser::next() {
  Token token = current();
  if (at_ + 1 < tokens_.size()) {
    ++at_;
  }
  return token;
}

bool Parser::is_operator(std::string_view text) const {
  return current().kind == TokenKind::kOperator && current().text == text;
}

bool Parser::is_name(std::string_view text) const {
  return current().kind == TokenKind::kName && current().text == text;
}

bool Parser::skip_operator(std::string_view text) {
  const bool found = is_operator(text);
  if (found) {
    next();
  }
  return found;
}

bool Parser::skip_name(std::string_view text) {
  const bool found = is_name(text);
  if (found) {
    next();
  }
  return found;
}

Status Parser::expect_operator(std::string_view text) {
  return skip_operator(text) ? Status() : fail_expected(text);
}

Status Parser::expect_name(std::string_view text) {
  return skip_name(text) ? Status() : fail_expected(text);
}

Result<std::string> Parser::expect_any_name() {
  if (current().kind != TokenKind::kName) {
    return fail_expected("name");
  }
  return next().text;
}

Status Parser::expect(TokenKind kind) {
  if (current().kind != kind) {
    return fail_expected(describe(Token{kind, "", 0}));
  }
  next();
  return {};
}

Status Parser::fail(std::string_view message) const {
  return error(ErrorType::kTemplateSyntaxError, message);
}

Status Parser::fail_expected(std::string_view what) const {
  if (current().kind == TokenKind::kEnd) {
    return fail("unexpected end of template, expected '" + std::string(what) + "'.");
  }
  return fail("expected token '" + std::string(what) + "', got '" + describe(current()) + "'");
}

Result<ParsedTemplate> parse(std::string_view source, const Limits& limits) {
  if (source.size() > limits.max_source_bytes) {
    return error(ErrorType::kLimitError, "the template is longer than max_source_bytes (" +
                                             std::to_string(limits.max_source_bytes) + ")");
  }
  Parser parser(TRY(tokenize(source)), limits);
  ParsedTemplate parsed;
  parsed.body = TRY(parser.parse_template());
  parsed.names = parser.take_names();
  TRY(check_template(parsed.body));
  return parsed;
}

}  // namespace godwit::jinja
