#include "server/openapi.h"

#include "server/api_test_support.h"

namespace godwit {
namespace {

TEST(OpenApi, DescribesRoutesThatExist) {
  Api api;
  const Json description = api.ask("GET", "/openapi.json")->json();
  EXPECT_EQ(at(description, "openapi"), Json("3.1.0"));
  EXPECT_EQ(at(description, "info.version"), Json("1.2.3"));
  const Json* paths = description.find("paths");
  ASSERT_NE(paths, nullptr);
  for (const auto& [path, methods] : paths->as_object()) {
    for (const auto& [method, operation] : methods.as_object()) {
      std::string place = path;
      if (const std::size_t brace = place.find('{'); brace != std::string::npos) {
        place = place.substr(0, brace) + "bytes";
      }
      const auto exchange = api.ask(method == "get" ? "GET" : "POST", place, "{}");
      const int status = exchange->response.status;
      EXPECT_EQ(status, operation.find("requestBody") == nullptr ? 200 : 400) << path;
      EXPECT_NE(operation.find("responses")->find(std::to_string(status)), nullptr) << path;
    }
  }
}

void expect_targets(const Json& value, const Json& schemas) {
  if (value.is_array()) {
    for (const Json& element : value.as_array()) {
      expect_targets(element, schemas);
    }
  } else if (value.is_object()) {
    for (const auto& [name, member] : value.as_object()) {
      if (name == "$ref") {
        const std::string& target = member.as_string();
        EXPECT_NE(schemas.find(target.substr(target.rfind('/') + 1)), nullptr) << target;
      }
      expect_targets(member, schemas);
    }
  }
}

TEST(OpenApi, EveryReferenceHasItsTargetAndEveryFieldItsSchema) {
  const Json description = openapi_description("1");
  const Json schemas = at(description, "components.schemas");
  expect_targets(description, schemas);
  EXPECT_EQ(at(schemas, "CompletionRequest.properties.top_k.anyOf.0.minimum"), Json(-1));
  EXPECT_EQ(at(schemas, "ChatCompletionRequest.required.0"), Json("messages"));
  EXPECT_EQ(at(schemas, "ChatCompletionRequest.properties.use_beam_search.anyOf.0.const"),
            Json(false));
}

}  // namespace
}  // namespace godwit
