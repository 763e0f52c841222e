#include "base/json.h"

#include <cmath>

#include <gtest/gtest.h>

namespace godwit {
namespace {

std::string round_trip(std::string_view text) {
  const Result<Json> value = parse_json(text, "test");
  return value.ok() ? to_json(*value) : "error: " + value.status().message();
}

TEST(JsonTest, KeepsOrderNumbersAndStrings) {
  EXPECT_EQ(round_trip(R"({"b":1,"a":[true,null,"x"],"c":{}})"),
            R"({"b":1,"a":[true,null,"x"],"c":{}})");
  EXPECT_EQ(round_trip("[-9223372036854775808,18446744073709551615,0.1,1e300,-0.0]"),
            "[-9223372036854775808,18446744073709551615,0.1,1e+300,-0.0]");
  EXPECT_EQ(round_trip(R"("\u00e9\ud83d\ude00\n\u0001\"\\")"),
            "\"\xC3\xA9\xF0\x9F\x98\x80\\n\\u0001\\\"\\\\\"");
}

TEST(JsonTest, TheLastOfDuplicateKeysWins) {
  EXPECT_EQ(round_trip(R"({"a":1,"b":2,"a":3})"), R"({"a":3,"b":2})");
}

TEST(JsonTest, RefusesDuplicateKeysWhenTheyMustBeUnique) {
  JsonParseOptions options;
  options.unique_keys = true;
  EXPECT_FALSE(parse_json(R"({"a":1,"a":2})", "test", options).ok());
  EXPECT_TRUE(parse_json(R"({"a":{"a":1},"b":{"a":2}})", "test", options).ok());
}

TEST(JsonTest, ErrorsNameTheInputAndThePlace) {
  const Result<Json> value = parse_json(R"({"a": 1,})", "request body");
  ASSERT_FALSE(value.ok());
  EXPECT_NE(value.status().message().find("request body"), std::string::npos);
  EXPECT_NE(value.status().message().find("byte 9"), std::string::npos);
  for (const char* wrong :
       {"", "{", "[1,]", "nul", "1 2", "\"\xFF\"", "\"\\ud800\"", "01", "NaN"}) {
    EXPECT_FALSE(parse_json(wrong, "test").ok()) << wrong;
  }
}

TEST(JsonTest, DepthIsLimited) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(parse_json(nested(128), "test").ok());
  EXPECT_FALSE(parse_json(nested(129), "test").ok());
  EXPECT_FALSE(parse_json(nested(1'000'000), "test").ok());
}

TEST(JsonTest, NonFiniteNumbersAreForConfigFilesOnly) {
  constexpr std::string_view kText =
      R"({"a": Infinity, "b": [-Infinity, NaN], "c": "Infinity \" NaN", "d": {"__float__": "Infinity"}})";
  EXPECT_FALSE(parse_json(kText, "test").ok());
  const Result<Json> value = parse_json(kText, "test", {.allow_non_finite = true});
  ASSERT_TRUE(value.ok()) << value.status().message();
  EXPECT_EQ(value->find("a")->as_double(), INFINITY);
  EXPECT_EQ(value->find("b")->as_array()[0].as_double(), -INFINITY);
  EXPECT_TRUE(std::isnan(value->find("b")->as_array()[1].as_double()));
  EXPECT_EQ(value->find("c")->as_string(), "Infinity \" NaN");
  EXPECT_EQ(value->find("d")->as_double(), INFINITY);
}

TEST(JsonTest, WritesWhatIsNoJsonAsTheNearestThatIs) {
  EXPECT_EQ(to_json(Json(NAN)), "null");
  EXPECT_EQ(to_json(Json(INFINITY)), "null");
  // One U+FFFD for each byte that belongs to no character; overlong and surrogate forms are none.
  EXPECT_EQ(to_json(Json("a\xFF"
                         "b\xE2\x82")),
            "\"a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(to_json(Json("\xC0\x80")), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(JsonTest, IndentPutsMembersOnLines) {
  Json value;
  value.set("a", JsonArray{Json(1), Json(2)});
  value.set("b", JsonObject());
  EXPECT_EQ(to_json(value, 2), "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {}\n}");
}

TEST(JsonTest, RefusesMoreValuesThanAllowed) {
  JsonParseOptions options;
  options.max_values = 5;  // Three numbers and two arrays.
  EXPECT_TRUE(parse_json("[1,[2],3]", "test", options).ok());
  const Result<Json> value = parse_json("[1,[2],3,4]", "test", options);
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.status().message(), "test holds more than 5 values");
}

}  // namespace
}  // namespace godwit
