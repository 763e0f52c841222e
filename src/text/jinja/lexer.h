#pragma once
// Cuts the source of a template into tokens, and applies the rules for white space around tags as
// Hugging Face sets them: trim_blocks, lstrip_blocks, and no newline at the end.

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace godwit::jinja {

enum class TokenKind {
  kData,
  kPrintBegin,
  kPrintEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  ///< Of a string: its value. Of numbers: their digits without "_".
  int line = 1;
};

/// Describes a token in an error: "end of print statement", "name", "=".
std::string describe(const Token& token);

/// Cuts a whole source. Errors: TemplateSyntaxError.
Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace godwit::jinja
