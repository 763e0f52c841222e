#include "text/split_pattern.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace godwit {
namespace {

std::vector<std::string> matches(std::string_view regex, std::string_view text) {
  const Result<SplitPattern> pattern = SplitPattern::create(regex);
  EXPECT_TRUE(pattern.ok()) << pattern.status().message();
  std::vector<std::string> found;
  for (const ByteRange& range : pattern->find_all(text)) {
    found.emplace_back(text.substr(range.begin, range.end - range.begin));
  }
  return found;
}

using Strings = std::vector<std::string>;

TEST(SplitPattern, MatchesClassesInAnyScript) {
  EXPECT_EQ(matches(R"(\p{L}+)", "abc дом 日本 12"), (Strings{"abc", "дом", "日本"}));
  EXPECT_EQ(matches(R"(\p{N}{1,3})", "1234٣٤"), (Strings{"123", "4٣٤"}));
  EXPECT_EQ(matches(R"([^\s\p{L}]+)", "a+é, b"), (Strings{"+", ","}));
  EXPECT_EQ(matches(R"(\P{L}+)", "a12é"), (Strings{"12"}));
  EXPECT_EQ(matches(R"([а-я]+)", "xдомx"), (Strings{"дом"}));
  EXPECT_EQ(matches(R"([\p{Han}&&[^日]]+)", "日本語"), (Strings{"本語"}));
  EXPECT_EQ(matches("é|日", "aé日"), (Strings{"é", "日"}));
  EXPECT_EQ(matches(".", "é\n日"), (Strings{"é", "日"}));
}

TEST(SplitPattern, IgnoresCaseAsOniguruma) {
  EXPECT_EQ(matches("(?i:'s|'k)", "'s 'S 'ſ 'K 'x"), (Strings{"'s", "'S", "'ſ", "'K"}));
  EXPECT_EQ(matches("(?:(?i)a)b", "Ab AB"), (Strings{"Ab"}));
}

TEST(SplitPattern, ReadsSyntax) {
  EXPECT_EQ(matches(R"(\s+(?!\S)|\s+)", "a   b"), (Strings{"  ", " "}));
  EXPECT_EQ(matches("a{,2}b", "aaab"), (Strings{"aab"}));
  EXPECT_EQ(matches("a{x}", "a{x}"), (Strings{"a{x}"}));
  EXPECT_EQ(matches(R"([]a-]+)", "]a-b"), (Strings{"]a-"}));
  EXPECT_EQ(matches(R"([\-a\]]+)", "]a-b"), (Strings{"]a-"}));
  EXPECT_EQ(matches(R"([\x41\x{42}\u0043])", "ABCD"), (Strings{"A", "B", "C"}));
  EXPECT_EQ(matches("(?<=a)b", "ab bb"), (Strings{"b"}));
  EXPECT_EQ(matches("^b$", "a\nb\nc"), (Strings{"b"}));
  EXPECT_EQ(matches("a++b|c?+", "aab"), (Strings{"aab"}));
  EXPECT_EQ(matches("x*", "axb"), (Strings{"", "x", ""}));
}

TEST(SplitPattern, TakesLiteralsAsTheyAre) {
  const Result<SplitPattern> pattern = SplitPattern::create_literal("a.[é]\\");
  ASSERT_TRUE(pattern.ok()) << pattern.status().message();
  EXPECT_EQ(pattern->find_all("a.[é]\\ ax[é]\\"), (std::vector<ByteRange>{{0, 7}}));
}

TEST(SplitPattern, RefusesWithTheReason) {
  for (const std::string_view regex :
       {"(",       ")",     "[",           "[a",
        "[z-a]",   "\\",    "a)",          "(?<n>a)",
        "\\b",     "\\1",   "(a)\\k<1>",   "\\p{Greek}",
        "\\p",     "\\p{L", "[[:alpha:]]", "\\x{110000}",
        "a{1,2}+", "*",     "(?i:é)",      "a{99999}",
        "\\h",     "(?#x)", "\xFF",        "[[[[[[[[[[[[a]]]]]]]]]]]]"}) {
    const Result<SplitPattern> pattern = SplitPattern::create(regex);
    EXPECT_FALSE(pattern.ok()) << regex;
    EXPECT_NE(pattern.status().cause().find("regular expression"), std::string::npos)
        << pattern.status().message();
  }
  EXPECT_FALSE(SplitPattern::create(std::string(100'000, 'a')).ok());
  EXPECT_FALSE(SplitPattern::create(std::string(10'000, '(')).ok());
}

TEST(SplitPattern, StopsAtTheMatchLimit) {
  // Exponential backtracking: the limit turns it into "no match".
  EXPECT_EQ(matches("(?:a|a)*b", std::string(64, 'a')), Strings());
}

}  // namespace
}  // namespace godwit
