// The tables of fields against what the handlers really read.

#include "server/request_fields.h"

#include <set>

#include "server/api_test_support.h"

namespace godwit {
namespace {

struct Endpoint {
  const char* path;
  const FieldTable* table;
  std::string body;  // Fields that make the request a good one.
};

const Endpoint kEndpoints[] = {
    {"/v1/chat/completions", &kChatFields,
     R"("messages":[{"role":"user","content":"hi"}],"tool_choice":"none")"},
    {"/v1/completions", &kCompletionFields, R"("prompt":"a")"},
    {"/tokenize", &kTokenizeTextFields, R"("prompt":"a")"},
    {"/tokenize", &kTokenizeChatFields, R"("messages":[{"role":"user","content":"hi"}])"},
    {"/detokenize", &kDetokenizeFields, R"("tokens":[97])"},
};

template <class Function>
void for_each_field(const FieldTable& table, const Function& function) {
  for (const std::span<const FieldSpec> part : table.parts) {
    for (const FieldSpec& spec : part) {
      function(spec);
    }
  }
}

TEST(RequestFields, AreNamedOnceWithSchemasThatAreJson) {
  for (const FieldTable* table :
       {&kChatFields, &kCompletionFields, &kTokenizeTextFields, &kTokenizeChatFields,
        &kDetokenizeFields, &kStreamOptionFields, &kRepetitionDetectionFields}) {
    std::set<std::string_view> names;
    for_each_field(*table, [&](const FieldSpec& spec) {
      EXPECT_TRUE(names.insert(spec.name).second) << table->name << " " << spec.name;
      EXPECT_TRUE(parse_json(spec.schema, spec.name).ok()) << spec.name;
    });
    const auto required = parse_json(table->required, "required");
    ASSERT_TRUE(required.ok());
    for (const Json& name : required->as_array()) {
      EXPECT_NE(table->find(name.as_string()), nullptr) << name.as_string();
    }
  }
}

/// No field takes this: neither lists of numbers, strings or objects, nor anything plainer.
constexpr const char* kWrong = "[[true]]";

TEST(RequestFields, EveryOneIsReadRefusedOrPassedOver) {
  for (const Endpoint& endpoint : kEndpoints) {
    for_each_field(*endpoint.table, [&](const FieldSpec& spec) {
      const std::string name(spec.name);
      if (endpoint.body.find("\"" + name + "\"") != std::string::npos) {
        return;
      }
      Api api;
      const auto exchange =
          api.ask("POST", endpoint.path, "{" + endpoint.body + ",\"" + name + "\":" + kWrong + "}");
      if (spec.use == FieldUse::kIgnored) {
        EXPECT_NE(exchange->response.status, 400) << name;
        return;
      }
      const Json param = at(exchange->json(), "error.param");
      EXPECT_EQ(exchange->response.status, 400) << endpoint.path << " " << name;
      ASSERT_TRUE(param.is_string()) << endpoint.path << " " << name << exchange->response.body;
      EXPECT_TRUE(param.as_string().starts_with(name)) << param.as_string();
    });
  }
}

TEST(RequestFields, WhatIsRefusedMayBeNullOrNeutral) {
  for (const Endpoint& endpoint : kEndpoints) {
    for_each_field(*endpoint.table, [&](const FieldSpec& spec) {
      if (spec.use != FieldUse::kRefused) {
        return;
      }
      for (const std::string& value : {std::string("null"), std::string(spec.schema)}) {
        Api api;
        const auto exchange =
            api.ask("POST", endpoint.path,
                    "{" + endpoint.body + ",\"" + std::string(spec.name) + "\":" + value + "}");
        EXPECT_NE(exchange->response.status, 400) << spec.name << exchange->response.body;
      }
    });
  }
}

}  // namespace
}  // namespace godwit
