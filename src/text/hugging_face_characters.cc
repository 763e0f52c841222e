#include "text/hugging_face_characters.h"

#include <algorithm>
#include <array>

namespace godwit {
namespace {

/// Punctuation that is newer than the crate's tables.
constexpr std::array kNewerPunctuation = std::to_array<CodePointRange>(
    {{0x61D, 0x61D},     {0x9FD, 0x9FD},     {0xA76, 0xA76},     {0xC77, 0xC77},
     {0xC84, 0xC84},     {0x1B4E, 0x1B4F},   {0x1B7D, 0x1B7F},   {0x2E43, 0x2E4F},
     {0x2E52, 0x2E5D},   {0x10D6E, 0x10D6E}, {0x10EAD, 0x10EAD}, {0x10F55, 0x10F59},
     {0x10F86, 0x10F89}, {0x113D4, 0x113D5}, {0x113D7, 0x113D8}, {0x1144B, 0x1144F},
     {0x1145A, 0x1145B}, {0x1145D, 0x1145D}, {0x11660, 0x1166C}, {0x116B9, 0x116B9},
     {0x1183B, 0x1183B}, {0x11944, 0x11946}, {0x119E2, 0x119E2}, {0x11A3F, 0x11A46},
     {0x11A9A, 0x11A9C}, {0x11A9E, 0x11AA2}, {0x11B00, 0x11B09}, {0x11BE1, 0x11BE1},
     {0x11C41, 0x11C45}, {0x11C70, 0x11C71}, {0x11EF7, 0x11EF8}, {0x11F43, 0x11F4F},
     {0x11FFF, 0x11FFF}, {0x12FF1, 0x12FF2}, {0x16D6D, 0x16D6F}, {0x16E97, 0x16E9A},
     {0x16FE2, 0x16FE2}, {0x1E5FF, 0x1E5FF}, {0x1E95E, 0x1E95F}});

/// What the normalisation crate does not know: characters with a decomposition, and marks with a
/// combining class or that take part in a composition.
constexpr std::array kNewerThanNormalizer = std::to_array<CodePointRange>(
    {{0x7FD, 0x7FD},     {0x898, 0x89F},     {0x8CA, 0x8D3},     {0x9FE, 0x9FE},
     {0xC3C, 0xC3C},     {0xD3B, 0xD3C},     {0xEBA, 0xEBA},     {0x1715, 0x1715},
     {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},   {0x32FF, 0x32FF},   {0xA7F2, 0xA7F4},
     {0xA82C, 0xA82C},   {0xAB69, 0xAB69},   {0x10781, 0x10785}, {0x10787, 0x107B0},
     {0x107B2, 0x107BA}, {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF},
     {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B},
     {0x1145E, 0x1145E}, {0x11839, 0x1183A}, {0x11930, 0x11930}, {0x11938, 0x11938},
     {0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0}, {0x11A34, 0x11A34},
     {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45},
     {0x11D97, 0x11D97}, {0x11F41, 0x11F42}, {0x16FF0, 0x16FF1}, {0x1E030, 0x1E06D},
     {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF},
     {0x1E4EC, 0x1E4EF}, {0x1F16C, 0x1F16C}, {0x1FBF0, 0x1FBF9}});

/// Upper-case letters that utf8proc 2.8 does not know, and how far away their lower case is.
struct NewerLetters {
  char32_t first;
  char32_t last;
  std::int32_t distance;
};
constexpr std::array kNewerLetters = std::to_array<NewerLetters>({
    {0x1C89, 0x1C89, 1},
    {0xA7CB, 0xA7CB, 0x264 - 0xA7CB},
    {0xA7CC, 0xA7CC, 1},
    {0xA7CE, 0xA7CE, 1},
    {0xA7D2, 0xA7D2, 1},
    {0xA7D4, 0xA7D4, 1},
    {0xA7DA, 0xA7DA, 1},
    {0xA7DC, 0xA7DC, 0x19B - 0xA7DC},
    {0x10D50, 0x10D65, 0x20},
    {0x16EA0, 0x16EB8, 0x1B},
});

CodePointSet without(const CodePointSet& set, const CodePointSet& other) {
  return set.intersection(other.complement());
}

}  // namespace

CodePointSet punctuation_characters() {
  std::vector<CodePointRange> newer(kNewerPunctuation.begin(), kNewerPunctuation.end());
  CodePointSet set = without(*unicode_class("P"), CodePointSet::from_sorted(std::move(newer)));
  // ASCII's punctuation in Rust's sense, and two that were punctuation once.
  set.add(CodePointSet(
      {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}, {0x166D, 0x166D}, {0x111C9, 0x111C9}}));
  return set;
}

CodePointSet digit_characters() {
  CodePointSet set = *unicode_class("N");
  set.add(CodePointSet({{0x11DE0, 0x11DE9}, {0x16FF4, 0x16FF6}}));
  return set;
}

CodePointSet word_characters() {
  CodePointSet set =
      without(*unicode_class("w"), CodePointSet({{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}}));
  set.add(0x200C, 0x200D);
  return set;
}

bool newer_than_normalizer(char32_t code_point) {
  const auto* const range =
      std::lower_bound(kNewerThanNormalizer.begin(), kNewerThanNormalizer.end(), code_point,
                       [](const CodePointRange& r, char32_t value) { return r.last < value; });
  return range != kNewerThanNormalizer.end() && range->first <= code_point;
}

std::optional<char32_t> newer_lower_case(char32_t code_point) {
  for (const NewerLetters& letters : kNewerLetters) {
    if (code_point >= letters.first && code_point <= letters.last) {
      return static_cast<char32_t>(static_cast<std::int32_t>(code_point) + letters.distance);
    }
  }
  return std::nullopt;
}

}  // namespace godwit
