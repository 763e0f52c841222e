// Normalisation and character sets against Hugging Face tokenizers' answers for every code point.

#include "text/normalizer.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/fixtures.h"
#include "text/code_point_set.h"
#include "text/hugging_face_characters.h"
#include "text/utf8.h"

namespace godwit {
namespace {

Json characters() {
  const Result<Json> json = parse_json(
      test::read_text(test::test_data() / "tokenizers" / "characters.json.gz"), "characters.json");
  CHECK(json.ok());
  return *json;
}

Normalizer normalizer_of(NormalizerStep step) {
  std::vector<NormalizerStep> steps;
  steps.push_back(std::move(step));
  return Normalizer(std::move(steps));
}

void check_pairs(const Json& pairs, const Normalizer& normalizer) {
  int failures = 0;
  for (const JsonMember& pair : pairs.as_object()) {
    const std::string got = normalizer.normalize(pair.first);
    if (got != pair.second.as_string() && ++failures <= 5) {
      ADD_FAILURE() << to_json(Json(pair.first)) << " becomes " << to_json(Json(got))
                    << ", expected " << to_json(pair.second);
    }
  }
  EXPECT_EQ(failures, 0);
}

/// Every code point that the list does not name must stay as it is.
void check_all(const Json& changes, const Normalizer& normalizer) {
  check_pairs(changes, normalizer);
  std::size_t changed = 0;
  for (char32_t c = 0; c <= CodePointSet::kLast; ++c) {
    if (c < 0xD800 || c >= 0xE000) {
      std::string text;
      append_utf8(text, c);
      changed += normalizer.normalize(text) == text ? 0 : 1;
    }
  }
  EXPECT_EQ(changed, changes.as_object().size());
}

CodePointSet set_of(const Json& ranges) {
  CodePointSet set;
  std::vector<CodePointRange> list;
  for (const Json& range : ranges.as_array()) {
    list.push_back({static_cast<char32_t>(*range.as_array()[0].to_int64()),
                    static_cast<char32_t>(*range.as_array()[1].to_int64())});
  }
  return CodePointSet::from_sorted(std::move(list));
}

TEST(Normalizer, ComposesAsHuggingFace) {
  const Json expected = characters();
  check_all(*expected.find("nfc"), normalizer_of(UnicodeStep{false, true}));
  check_pairs(*expected.find("compositions"), normalizer_of(UnicodeStep{false, true}));
  check_pairs(*expected.find("marks"), normalizer_of(UnicodeStep{false, true}));
}

TEST(Normalizer, ComposesCompatibilityFormsAsHuggingFace) {
  check_all(*characters().find("nfkc"), normalizer_of(UnicodeStep{true, true}));
}

TEST(Normalizer, LowercasesAsHuggingFace) {
  check_all(*characters().find("lower"), normalizer_of(LowercaseStep()));
}

TEST(Normalizer, SortsLongRunsOfMarksInTime) {
  // Alternating classes 230 and 220: utf8proc's own ordering would need 10^10 steps.
  std::string text = "q";
  for (int i = 0; i < 200'000; ++i) {
    text += "\u0301\u0323";
  }
  const std::string result = normalizer_of(UnicodeStep{false, true}).normalize(text);
  EXPECT_EQ(result.size(), text.size());
  EXPECT_EQ(result.substr(0, 5), "q\u0323\u0323");
}

TEST(CharacterSets, AreThoseOfHuggingFace) {
  const Json expected = characters();
  EXPECT_EQ(punctuation_characters(), set_of(*expected.find("punctuation")));
  EXPECT_EQ(digit_characters(), set_of(*expected.find("digits")));
  EXPECT_EQ(word_characters(), set_of(*expected.find("word")));
  EXPECT_EQ(*unicode_class("s"), set_of(*expected.find("space")));
}

TEST(CharacterSets, UnicodeClassesAreThoseOfTheFixture) {
  const auto shared = test::shared_fixtures();
  if (!shared) {
    GTEST_SKIP() << "needs ../shared/fixtures";
  }
  const Result<Json> json = parse_json(
      test::read_text(*shared / "tokenizers" / "unicode_classes.json.gz"), "unicode_classes.json");
  ASSERT_TRUE(json.ok());
  for (const JsonMember& entry : json->find("classes")->as_object()) {
    const std::string& key = entry.first;
    if (key.starts_with("(?i")) {
      continue;
    }
    const std::string name =
        key.starts_with("\\p{") ? key.substr(3, key.size() - 4) : key.substr(1);
    const std::optional<CodePointSet> set = unicode_class(name);
    ASSERT_TRUE(set.has_value()) << name;
    EXPECT_EQ(*set, set_of(entry.second)) << name;
  }
}

TEST(CodePointSet, DoesSetArithmetic) {
  const CodePointSet set({{5, 9}, {1, 2}, {3, 3}});
  EXPECT_EQ(set.ranges(), (std::vector<CodePointRange>{{1, 3}, {5, 9}}));
  EXPECT_EQ(set.complement().complement(), set);
  EXPECT_EQ(set.intersection(CodePointSet({{2, 6}})), CodePointSet({{2, 3}, {5, 6}}));
  EXPECT_TRUE(set.contains(9));
  EXPECT_FALSE(set.contains(4));
  EXPECT_FALSE(CodePointSet().contains(0));
}

}  // namespace
}  // namespace godwit
