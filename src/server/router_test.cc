#include "server/router.h"

#include "server/api_test_support.h"

namespace godwit {
namespace {

TEST(Router, ListsAndShowsModels) {
  Api api;
  const Json list = api.ask("GET", "/v1/models")->json();
  EXPECT_EQ(at(list, "object"), Json("list"));
  EXPECT_EQ(at(list, "data.0.id"), Json("bytes"));
  EXPECT_EQ(at(list, "data.0.object"), Json("model"));
  EXPECT_EQ(at(list, "data.0.created"), Json(1'600'000'000));
  EXPECT_EQ(at(list, "data.0.max_model_len"), Json(100));
  EXPECT_EQ(at(list, "data.1.id"), Json("alias"));
  EXPECT_EQ(at(api.ask("GET", "/v1/models/alias")->json(), "id"), Json("alias"));
  const auto missing = api.ask("GET", "/v1/models/a/b");
  EXPECT_EQ(missing->response.status, 404);
  EXPECT_EQ(at(missing->json(), "error.code"), Json("model_not_found"));
}

TEST(Router, AnUnknownModelIsNotFound) {
  Api api;
  const auto exchange = api.complete(R"({"model":"other","prompt":"a"})");
  EXPECT_EQ(exchange->response.status, 404);
  EXPECT_EQ(at(exchange->json(), "error.code"), Json("model_not_found"));
  EXPECT_EQ(at(exchange->json(), "error.param"), Json("model"));
  api.complete(R"({"model":"alias","prompt":"a"})");
  EXPECT_EQ(api.engine->requests.size(), 1U);
}

TEST(Router, HealthFollowsTheEngineAndReadinessTheServerToo) {
  Api api;
  for (const char* path : {"/health", "/livez", "/readyz", "/ping"}) {
    EXPECT_EQ(api.ask("GET", path)->response.status, 200) << path;
  }
  api.context.draining = true;
  EXPECT_EQ(api.ask("GET", "/health")->response.status, 200);
  EXPECT_EQ(api.ask("GET", "/readyz")->response.status, 503);
  api.engine->is_alive = false;
  EXPECT_EQ(api.ask("GET", "/health")->response.status, 503);
}

TEST(Router, ServesVersionMetricsAndTheChatPage) {
  Api api;
  EXPECT_EQ(at(api.ask("GET", "/version")->json(), "version"), Json("1.2.3"));
  const auto metrics = api.ask("GET", "/metrics");
  EXPECT_TRUE(metrics->response.content_type.starts_with("text/plain; version=0.0.4"));
  EXPECT_EQ(metrics->response.body, "metrics 1\n");
  const auto page = api.ask("GET", "/");
  EXPECT_TRUE(page->response.content_type.starts_with("text/html"));
  EXPECT_TRUE(page->response.body.starts_with("<!doctype html>"));
  // Works offline: nothing is fetched from elsewhere.
  EXPECT_EQ(page->response.body.find("://"), std::string::npos);
}

TEST(Router, NamesWhatARouteTakes) {
  Api api;
  const auto missing = api.ask("GET", "/v2/none");
  EXPECT_EQ(missing->response.status, 404);
  EXPECT_EQ(at(missing->json(), "error.type"), Json("invalid_request_error"));
  const auto wrong = api.ask("GET", "/v1/completions");
  EXPECT_EQ(wrong->response.status, 405);
  ASSERT_FALSE(wrong->response.headers.empty());
  EXPECT_EQ(wrong->response.headers[0].value, "POST");
  EXPECT_EQ(api.ask("HEAD", "/health")->response.status, 200);
}

TEST(Router, AsksForAKeyWhereTokensAreSpent) {
  Api api(true, {"first", "second"});
  const auto refused = api.complete(R"({"prompt":"a"})");
  EXPECT_EQ(refused->response.status, 401);
  EXPECT_EQ(at(refused->json(), "error.code"), Json("invalid_api_key"));
  EXPECT_EQ(api.ask("GET", "/v1/models", "", {{"Authorization", "Bearer third"}})->response.status,
            401);
  EXPECT_EQ(api.ask("GET", "/v1/models", "", {{"authorization", "Bearer second"}})->response.status,
            200);
  EXPECT_EQ(api.ask("GET", "/v1/models", "", {{"Authorization", "bearer  first"}})->response.status,
            200);
  for (const char* wrong : {"Bearer", "Bearer ", "first", "Basic first", "Bearer first second"}) {
    EXPECT_EQ(api.ask("GET", "/v1/models", "", {{"Authorization", wrong}})->response.status, 401)
        << wrong;
  }
  EXPECT_EQ(api.ask("GET", "/health")->response.status, 200);
}

TEST(Router, TellsWhatTheServerTakes) {
  Api api(true, {"key"});
  const auto exchange = api.ask("OPTIONS", "*");
  EXPECT_EQ(exchange->response.status, 200);
  EXPECT_EQ(exchange->response.headers.at(0).name, "Allow");
  EXPECT_EQ(api.ask("OPTIONS", "/v1/completions")->response.status, 405);
}

TEST(Router, BodiesThatAreNoJsonObjectAre400) {
  Api api;
  for (const char* body : {"", "{", "[]", "5", "\"x\"", "{\"prompt\":\"a\"}x", "\xFF"}) {
    EXPECT_EQ(api.complete(body)->response.status, 400) << body;
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i) {
    deep += "[";
  }
  EXPECT_EQ(api.complete(deep)->response.status, 400);
}

TEST(Tokenization, CountsTokensOfAPromptOrAChat) {
  Api api;
  const Json prompt =
      api.ask("POST", "/tokenize", R"({"prompt":"ab<|end|>","return_token_strs":true})")->json();
  EXPECT_EQ(at(prompt, "count"), Json(3));
  EXPECT_EQ(at(prompt, "max_model_len"), Json(100));
  EXPECT_EQ(at(prompt, "tokens"), Json(JsonArray{97, 98, 256}));
  EXPECT_EQ(at(prompt, "token_strs"), Json(JsonArray{"a", "b", "<|end|>"}));
  const Json chat =
      api.ask("POST", "/tokenize", R"({"messages":[{"role":"user","content":"x"}]})")->json();
  EXPECT_EQ(at(chat, "count"), Json(18));
  EXPECT_EQ(api.ask("POST", "/tokenize", "{}")->response.status, 400);
}

TEST(Tokenization, TellsOfTheTokenizer) {
  Api api;
  const Json info = api.ask("GET", "/tokenizer_info")->json();
  EXPECT_EQ(at(info, "vocab_size"), Json(257));
  EXPECT_EQ(at(info, "model_max_length"), Json(100));
  EXPECT_NE(info.find("eos_token"), nullptr);
  Api without(false);
  EXPECT_EQ(without.ask("GET", "/tokenizer_info")->response.status, 400);
}

TEST(Tokenization, DetokenizesAndRefusesForeignIds) {
  Api api;
  EXPECT_EQ(api.ask("POST", "/detokenize", R"({"tokens":[104,105]})")->response.body,
            R"({"prompt":"hi"})");
  EXPECT_EQ(api.ask("POST", "/detokenize", R"({"tokens":[300]})")->response.status, 400);
  Api without_text(false);
  EXPECT_EQ(without_text.ask("POST", "/detokenize", R"({"tokens":[1]})")->response.status, 400);
}

}  // namespace
}  // namespace godwit
