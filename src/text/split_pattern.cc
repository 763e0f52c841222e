#include "text/split_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <array>
#include <cstdint>
#include <pcre2.h>

#include "text/pattern_translator.h"
#include "text/utf8.h"

namespace godwit {
namespace {

// Bounds on one match. Backtracking steps grow with the text for patterns like \s*[\r\n]+, so they
// must exceed the longest text by far; 2^28 steps take a second or two.
constexpr std::uint32_t kMatchLimit = 1U << 28;
constexpr std::uint32_t kDepthLimit = 1U << 24;
constexpr std::uint32_t kHeapLimitKibibytes = 1U << 16;

struct Release {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

struct SplitPattern::Compiled {
  std::unique_ptr<pcre2_code, Release> code;
  std::unique_ptr<pcre2_match_context, Release> limits;
  CharacterKinds kinds;
  bool jit = false;
};

SplitPattern::SplitPattern(std::unique_ptr<const Compiled> compiled)
    : compiled_(std::move(compiled)) {}
SplitPattern::SplitPattern(SplitPattern&&) noexcept = default;
SplitPattern& SplitPattern::operator=(SplitPattern&&) noexcept = default;
SplitPattern::~SplitPattern() = default;

Result<SplitPattern> SplitPattern::create(std::string_view regex) {
  TranslatedPattern translated = TRY(translate_pattern(regex));
  int error = 0;
  PCRE2_SIZE error_offset = 0;
  auto compiled = std::make_unique<Compiled>();
  compiled->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.bytes_pattern.data()),
                                     translated.bytes_pattern.size(),
                                     PCRE2_MULTILINE | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP, &error,
                                     &error_offset, nullptr));
  if (compiled->code == nullptr) {
    std::array<PCRE2_UCHAR, 256> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    return invalid_argument("the regular expression '" + std::string(regex) +
                            "' is malformed: " + reinterpret_cast<const char*>(text.data()));
  }
  // Without the compiler for this processor pcre2_match interprets the pattern.
  compiled->jit = pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE) == 0;
  compiled->limits.reset(pcre2_match_context_create(nullptr));
  CHECK(compiled->limits != nullptr);
  pcre2_set_match_limit(compiled->limits.get(), kMatchLimit);
  pcre2_set_depth_limit(compiled->limits.get(), kDepthLimit);
  pcre2_set_heap_limit(compiled->limits.get(), kHeapLimitKibibytes);
  compiled->kinds = std::move(translated.kinds);
  return SplitPattern(std::move(compiled));
}

Result<SplitPattern> SplitPattern::create_literal(std::string_view text) {
  std::string regex;
  for (const char c : text) {
    if (std::string_view(R"(\.+*?()|[]{}^$#&-~)").find(c) != std::string_view::npos) {
      regex.push_back('\\');
    }
    regex.push_back(c);
  }
  return create(regex);
}

std::vector<ByteRange> SplitPattern::find_all(std::string_view text) const {
  std::vector<ByteRange> matches;
  for_each(text, [&](const ByteRange& match) { matches.push_back(match); });
  return matches;
}

void SplitPattern::for_each(std::string_view text,
                            const std::function<void(const ByteRange&)>& visit) const {
  // One byte per character; ASCII texts are their own form.
  std::string kinds;
  const bool ascii = is_ascii(text);
  if (!ascii) {
    kinds.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      kinds.push_back(static_cast<char>(compiled_->kinds[next_code_point(text, at)]));
    }
  }
  const std::string_view subject = ascii ? text : std::string_view(kinds);
  const std::unique_ptr<pcre2_match_data, Release> data(pcre2_match_data_create(1, nullptr));
  CHECK(data != nullptr);

  std::size_t start = 0;  // in characters, like all that PCRE2 reports
  std::size_t last_end = ~std::size_t{0};
  std::size_t character = 0;  // a character and its place in the text, to translate offsets
  std::size_t byte = 0;
  const auto byte_of = [&](std::size_t target) {
    if (ascii) {
      return target;
    }
    for (; character < target; ++character) {
      byte += utf8_length(text[byte]);
    }
    return byte;
  };
  while (start <= subject.size()) {
    const auto* const begin_of_text = reinterpret_cast<PCRE2_SPTR>(subject.data());
    int result = compiled_->jit
                     ? pcre2_jit_match(compiled_->code.get(), begin_of_text, subject.size(), start,
                                       0, data.get(), compiled_->limits.get())
                     : PCRE2_ERROR_JIT_STACKLIMIT;
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
      result = pcre2_match(compiled_->code.get(), begin_of_text, subject.size(), start,
                           PCRE2_NO_JIT, data.get(), compiled_->limits.get());
    }
    if (result < 0) {
      break;  // no match, or a limit
    }
    const PCRE2_SIZE* const offsets = pcre2_get_ovector_pointer(data.get());
    const std::size_t begin = offsets[0];
    const std::size_t end = offsets[1];
    if (begin == end && end == last_end) {
      ++start;
      continue;
    }
    // \K or a lookbehind cannot occur, so a match never begins before its start.
    const std::size_t begin_byte = byte_of(begin);
    visit({begin_byte, byte_of(end)});
    start = last_end = end;
  }
}

}  // namespace godwit
