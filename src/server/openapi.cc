#include "server/openapi.h"

#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "server/openapi_answers.h"
#include "server/request_fields.h"

namespace godwit {
namespace {

/// An endpoint: its request, if it has one, and what it answers with 200.
struct Endpoint {
  std::string_view path;
  std::string_view method;
  std::string_view summary;
  std::string_view request;  // the name of a schema; empty: it has no body
  std::string_view answer;   // the name of a schema, or a type of content that is no JSON
  bool streams;
};

constexpr std::string_view kText = "text/plain";
constexpr std::string_view kPage = "text/html";
constexpr std::string_view kNothing = "";

constexpr Endpoint kEndpoints[] = {
    {"/v1/chat/completions", "post", "Goes on with a conversation.", "ChatCompletionRequest",
     "ChatCompletion", true},
    {"/v1/completions", "post", "Goes on with a text.", "CompletionRequest", "Completion", true},
    {"/tokenize", "post", "Turns text or messages into token ids.", "TokenizeRequest", "Tokens",
     false},
    {"/detokenize", "post", "Turns token ids into text.", "DetokenizeRequest", "Text", false},
    {"/v1/models", "get", "Lists the served names of the model.", kNothing, "ModelList", false},
    {"/v1/models/{model}", "get", "Shows one name.", kNothing, "Model", false},
    {"/health", "get", "200 while the engine runs.", kNothing, kNothing, false},
    {"/livez", "get", "As /health.", kNothing, kNothing, false},
    {"/ping", "get", "As /health.", kNothing, kNothing, false},
    {"/ping", "post", "As /health.", kNothing, kNothing, false},
    {"/tokenizer_info", "get", "Special tokens of the tokenizer.", kNothing, "TokenizerInfo",
     false},
    {"/readyz", "get", "200 while requests are taken.", kNothing, kNothing, false},
    {"/version", "get", "The version of the server.", kNothing, "Version", false},
    {"/metrics", "get", "Metrics in the text form of Prometheus.", kNothing, kText, false},
    {"/openapi.json", "get", "This description.", kNothing, "OpenApi", false},
    {"/", "get", "A page to chat with the model.", kNothing, kPage, false},
};

Json parsed(std::string_view text) {
  Result<Json> value = parse_json(text, "a schema");
  CHECK(value.ok());
  return std::move(value).value();
}

Json reference(std::string_view schema) {
  return JsonObject{{"$ref", "#/components/schemas/" + std::string(schema)}};
}

/// What a field takes. Those that may be left out may be null as well.
Json field_schema(const FieldSpec& spec, bool required) {
  Json schema;
  switch (spec.use) {
    case FieldUse::kRead:
      schema = parsed(spec.schema);
      break;
    case FieldUse::kRefused:
      schema = JsonObject{{"const", parsed(spec.schema)}};
      break;
    case FieldUse::kIgnored:
      return JsonObject{{"description", "Without effect."}};
  }
  if (!required) {
    schema = JsonObject{{"anyOf", JsonArray{std::move(schema), JsonObject{{"type", "null"}}}}};
  }
  if (!spec.about.empty()) {
    schema.set("description", spec.about);
  } else if (spec.use == FieldUse::kRefused) {
    schema.set("description", "Not supported: only this value is taken.");
  }
  return schema;
}

Json request_schema(const FieldTable& table) {
  Json required = parsed(table.required);
  Json properties{JsonObject()};
  for (const std::span<const FieldSpec> part : table.parts) {
    for (const FieldSpec& spec : part) {
      bool is_required = false;
      for (const Json& name : required.as_array()) {
        is_required = is_required || name.as_string() == spec.name;
      }
      properties.set(spec.name, field_schema(spec, is_required));
    }
  }
  return JsonObject{
      {"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}

Json content(std::string_view type, Json schema) {
  return JsonObject{{std::string(type), JsonObject{{"schema", std::move(schema)}}}};
}

Json good_answer(const Endpoint& endpoint) {
  Json answer = JsonObject{{"description", "The answer."}};
  if (endpoint.answer == kNothing) {
    return answer;
  }
  if (endpoint.answer == kText || endpoint.answer == kPage) {
    answer.set("content", content(endpoint.answer, JsonObject{{"type", "string"}}));
    return answer;
  }
  Json body = content("application/json", reference(endpoint.answer));
  if (endpoint.streams) {
    // One event a line "data: ...", each a chunk of the answer; "data: [DONE]" ends them.
    body.set("text/event-stream", JsonObject{{"schema", JsonObject{{"type", "string"}}}});
  }
  answer.set("content", std::move(body));
  return answer;
}

Json error_answer(std::string_view description) {
  return JsonObject{{"description", description},
                    {"content", content("application/json", reference("Error"))}};
}

Json operation(const Endpoint& endpoint) {
  Json answers;
  answers.set("200", good_answer(endpoint));
  Json result = JsonObject{{"summary", endpoint.summary}};
  if (endpoint.answer == "TokenizerInfo") {
    answers.set("400", error_answer("The server runs without a tokenizer."));
  }
  if (endpoint.path.find('{') != std::string_view::npos) {
    result.set("parameters", parsed(R"([{"name":"model","in":"path","required":true,)"
                                    R"("schema":{"type":"string","minLength":1}}])"));
    answers.set("404", error_answer("There is no such name."));
  }
  if (!endpoint.request.empty()) {
    result.set("requestBody",
               JsonObject{{"required", true},
                          {"content", content("application/json", reference(endpoint.request))}});
    answers.set("400", error_answer("A field is wrong; param names it."));
    answers.set("404", error_answer("The model is not served here."));
    answers.set("413", error_answer("The body is too large."));
  }
  if (!endpoint.request.empty() || endpoint.answer == "ModelList" || endpoint.answer == "Model") {
    answers.set("401", error_answer("A key is missing or wrong (--api-key)."));
  }
  answers.set("503", JsonObject{{"description", "The server is starting, full or stopping."}});
  result.set("responses", std::move(answers));
  return result;
}

}  // namespace

Json openapi_description(std::string_view version, std::string_view root_path) {
  Json paths;
  for (const Endpoint& endpoint : kEndpoints) {
    const Json* others = paths.find(endpoint.path);
    Json operations = others == nullptr ? Json() : *others;
    operations.set(endpoint.method, operation(endpoint));
    paths.set(endpoint.path, std::move(operations));
  }
  Json schemas = parsed(answer_schemas());
  for (const FieldTable* table :
       {&kChatFields, &kCompletionFields, &kTokenizeTextFields, &kTokenizeChatFields,
        &kDetokenizeFields, &kStreamOptionFields, &kRepetitionDetectionFields}) {
    schemas.set(table->name, request_schema(*table));
  }
  Json description = JsonObject{{"openapi", "3.1.0"},
                                {"info", JsonObject{{"title", "godwit"}, {"version", version}}},
                                {"paths", std::move(paths)},
                                {"components", JsonObject{{"schemas", std::move(schemas)}}}};
  if (!root_path.empty()) {
    description.set("servers", JsonArray{JsonObject{{"url", root_path}}});
  }
  return description;
}

}  // namespace godwit
