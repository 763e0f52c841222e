#include "server/error_body.h"

#include <gtest/gtest.h>

namespace godwit {
namespace {

TEST(ErrorBody, HasTheFourFieldsOfOpenAi) {
  EXPECT_EQ(to_json(error_body(invalid_argument("top_p is 2", "give a number in (0, 1]"))),
            R"({"error":{"message":"top_p is 2; give a number in (0, 1]",)"
            R"("type":"invalid_request_error","param":"top_p","code":null}})");
  EXPECT_EQ(
      to_json(error_body(internal_error("disk is full"))),
      R"({"error":{"message":"disk is full","type":"server_error","param":null,"code":null}})");
}

TEST(ErrorBody, NamesAFieldOnlyWhereTheCauseBeginsWithOne) {
  const auto param = [](const char* cause) {
    return *error_body(invalid_argument(cause)).find("error")->find("param");
  };
  EXPECT_EQ(param("messages[0].content must be a string"), Json("messages[0].content"));
  EXPECT_EQ(param("prompt: too long"), Json("prompt"));
  EXPECT_EQ(param("The request has no body"), Json());
  EXPECT_EQ(param("cannot read it"), Json());
  EXPECT_EQ(param("alone"), Json());
}

TEST(ErrorBody, EveryCodeHasItsStatus) {
  EXPECT_EQ(http_status(invalid_argument("x")), 400);
  EXPECT_EQ(http_status(unimplemented("x")), 400);
  EXPECT_EQ(http_status(not_found("x")), 404);
  EXPECT_EQ(http_status(resource_exhausted("x")), 503);
  EXPECT_EQ(http_status(unavailable("x")), 503);
  EXPECT_EQ(http_status(internal_error("x")), 500);
}

}  // namespace
}  // namespace godwit
