#include "server/openai_completions.h"

#include "server/api_test_support.h"

namespace godwit {
namespace {

Delta delta_of(std::int32_t index, std::vector<TokenId> ids, std::vector<TokenLogprob> logprobs,
               std::optional<FinishReason> reason) {
  Delta delta;
  delta.index = index;
  for (const TokenId id : ids) {
    delta.text.push_back(static_cast<char>(id));
  }
  delta.token_ids = std::move(ids);
  delta.logprobs = std::move(logprobs);
  delta.finish_reason = reason;
  return delta;
}

TEST(Completions, AnswersOneString) {
  Api api;
  const auto exchange = api.complete(R"({"prompt":"ab"})");
  ASSERT_EQ(api.engine->requests.size(), 1U);
  EXPECT_EQ(api.prompt(0), "ab");
  EXPECT_EQ(api.engine->requests[0].sampling.max_tokens, 16);
  api.engine->play(0, 0, "cd", FinishReason::kLength);
  const Json body = exchange->json();
  EXPECT_TRUE(at(body, "id").as_string().starts_with("cmpl-"));
  EXPECT_EQ(at(body, "object"), Json("text_completion"));
  EXPECT_EQ(at(body, "model"), Json("bytes"));
  EXPECT_EQ(at(body, "choices.0.text"), Json("cd"));
  EXPECT_EQ(at(body, "choices.0.logprobs"), Json());
  EXPECT_EQ(at(body, "choices.0.finish_reason"), Json("length"));
  EXPECT_EQ(at(body, "usage.total_tokens"), Json(4));
}

TEST(Completions, PromptsComeAsTextOrIdsOneOrMany) {
  Api api;
  api.complete(R"({"prompt":[97,98]})");
  EXPECT_EQ(api.prompt(0), "ab");
  const auto exchange = api.complete(R"({"prompt":["x",[121]],"n":2})");
  ASSERT_EQ(api.engine->requests.size(), 3U);
  EXPECT_EQ(api.prompt(1), "x");
  EXPECT_EQ(api.prompt(2), "y");
  api.engine->play(2, 1, "3", FinishReason::kStop);
  api.engine->play(1, 0, "0", FinishReason::kStop);
  api.engine->play(2, 0, "2", FinishReason::kStop);
  api.engine->play(1, 1, "1", FinishReason::kStop);
  const Json body = exchange->json();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(at(body, "choices." + std::to_string(i) + ".index"), Json(i));
    EXPECT_EQ(at(body, "choices." + std::to_string(i) + ".text"), Json(std::to_string(i)));
  }
  EXPECT_EQ(at(body, "usage.prompt_tokens"), Json(2));
}

TEST(Completions, ADefaultMaxTokensIsCutToTheContextAndAGivenOneIsNot) {
  Api api;
  const std::string prompt(90, 'p');
  api.complete(R"({"prompt":")" + prompt + R"("})");
  EXPECT_EQ(api.engine->requests.at(0).sampling.max_tokens, 10);
  const auto refused = api.complete(R"({"max_tokens":11,"prompt":")" + prompt + R"("})");
  EXPECT_EQ(refused->response.status, 400);
  api.context.model.max_output_tokens = 5;
  api.complete(R"({"max_tokens":9,"prompt":"a"})");
  EXPECT_EQ(api.engine->requests.at(1).sampling.max_tokens, 5);
}

TEST(Completions, LogprobsInTheLegacyForm) {
  Api api;
  const auto exchange = api.complete(R"({"prompt":"a","logprobs":1})");
  // An "é" in two tokens, then a "z" that was not the most likely one.
  api.engine->sinks.at(0)(delta_of(0, {0xC3}, {{0xC3, -0.1F, 1, {{0xC3, -0.1F}}}}, std::nullopt));
  api.engine->sinks.at(0)(
      delta_of(0, {0xA9, 'z'}, {{0xA9, -0.2F, 1, {{0xA9, -0.2F}}}, {'z', -3.0F, 7, {{'y', -0.5F}}}},
               FinishReason::kLength));
  const Json logprobs = at(exchange->json(), "choices.0.logprobs");
  EXPECT_EQ(at(logprobs, "text_offset"), Json(JsonArray{0, 1, 1}));
  EXPECT_EQ(at(logprobs, "tokens.2"), Json("z"));
  EXPECT_EQ(at(logprobs, "token_logprobs.2"), Json(-3.0));
  EXPECT_EQ(at(logprobs, "top_logprobs.2"), Json(JsonObject{{"y", -0.5}, {"z", -3.0}}));
}

TEST(Completions, PartsOfCharactersShareAKeyOfTopLogprobs) {
  Api api;
  const auto exchange = api.complete(R"({"prompt":"q","logprobs":3})");
  Delta delta;
  delta.token_ids = {0xE4};
  delta.logprobs = {{.token = 0xE4,
                     .logprob = -3.0F,
                     .rank = 4,
                     .top = {{0xE2, -0.5F}, {65, -1.0F}, {0xE3, -2.0F}}}};
  delta.finish_reason = FinishReason::kLength;
  api.engine->sinks[0](delta);
  EXPECT_EQ(at(exchange->json(), "choices.0.logprobs.top_logprobs.0"),
            Json(JsonObject{{"\xEF\xBF\xBD", -3.0}, {"A", -1.0}}));
  const std::string& body = exchange->response.body;
  EXPECT_EQ(body.find("\"\xEF\xBF\xBD\":"), body.rfind("\"\xEF\xBF\xBD\":"));
}

TEST(Completions, EchoWithLogprobsBeginsWithThePrompt) {
  for (const bool stream : {false, true}) {
    Api api;
    const auto exchange = api.complete(std::string(R"({"prompt":"ab","logprobs":0,"echo":true,)") +
                                       R"("n":2,"stream":)" + (stream ? "true}" : "false}"));
    EXPECT_EQ(api.engine->requests.at(0).sampling.prompt_logprobs, 0);
    // Output 1 is first, but the prompt's log probabilities come with output 0.
    api.engine->sinks[0](delta_of(1, {'d'}, {{'d', -4.0F, 1, {}}}, FinishReason::kStop));
    Delta first = delta_of(0, {'c'}, {{'c', -3.0F, 1, {}}}, FinishReason::kStop);
    first.prompt_logprobs = {{.token = 'b', .logprob = -2.0F, .rank = 5, .top = {}}};
    api.engine->sinks[0](first);
    const auto choice = [&](std::size_t i) {
      return stream ? at(exchange->events().at(i), "choices.0")
                    : at(exchange->json(), "choices." + std::to_string(i));
    };
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(at(choice(i), "index"), Json(static_cast<int>(i)));
      EXPECT_EQ(at(choice(i), "text"), Json(i == 0 ? "abc" : "abd"));
      EXPECT_EQ(at(choice(i), "logprobs.token_logprobs"),
                Json(JsonArray{Json(), -2.0, i == 0 ? -3.0 : -4.0}));
      EXPECT_EQ(at(choice(i), "logprobs.text_offset"), Json(JsonArray{0, 1, 2}));
      EXPECT_EQ(at(choice(i), "logprobs.top_logprobs.0"), Json());
      EXPECT_EQ(at(choice(i), "prompt_logprobs"), Json());
    }
  }
}

TEST(Completions, EchoAloneMayAskForNoTokens) {
  Api api;
  const auto exchange = api.complete(R"({"prompt":[97],"echo":true,"max_tokens":0})");
  ASSERT_EQ(api.engine->requests.size(), 1U) << exchange->response.body;
  EXPECT_EQ(api.engine->requests[0].sampling.max_tokens, 0);
  api.engine->play(0, 0, "", FinishReason::kLength);
  EXPECT_EQ(at(exchange->json(), "choices.0.text"), Json("a"));
  EXPECT_EQ(at(exchange->json(), "usage.completion_tokens"), Json(0));
}

TEST(Completions, StreamsChunksAndUsage) {
  Api api;
  const auto exchange =
      api.complete(R"({"prompt":["a","b"],"stream":true,"stream_options":{"include_usage":true}})");
  api.engine->play(1, 0, "y", std::nullopt);
  api.engine->play(0, 0, "x", FinishReason::kStop);
  api.engine->play(1, 0, "", FinishReason::kLength);
  const auto events = exchange->events();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(at(events[0], "choices.0.index"), Json(1));
  EXPECT_EQ(at(events[0], "choices.0.text"), Json("y"));
  EXPECT_EQ(at(events[0], "object"), Json("text_completion"));
  EXPECT_EQ(at(events[1], "choices.0.finish_reason"), Json("stop"));
  EXPECT_EQ(at(events[2], "choices.0.finish_reason"), Json("length"));
  EXPECT_EQ(at(events[3], "usage.total_tokens"), Json(4));
}

TEST(Completions, WorksWithoutATokenizer) {
  Api api(false);
  const auto exchange =
      api.complete(R"({"prompt":[5,6],"return_token_ids":true,"logprobs":0,"prompt_logprobs":0})");
  EXPECT_FALSE(api.engine->requests.at(0).detokenize);
  Delta delta = delta_of(0, {9}, {{9, -1.0F, 1, {}}}, FinishReason::kStop);
  delta.text.clear();
  delta.prompt_logprobs = {{.token = 6, .logprob = -2.0F, .rank = 5, .top = {}}};
  api.engine->sinks[0](delta);
  const Json choice = at(exchange->json(), "choices.0");
  EXPECT_EQ(at(choice, "text"), Json(""));
  EXPECT_EQ(at(choice, "token_ids"), Json(JsonArray{9}));
  EXPECT_EQ(at(choice, "prompt_token_ids"), Json(JsonArray{5, 6}));
  EXPECT_EQ(at(choice, "logprobs.tokens.0"), Json("token_id:9"));
  EXPECT_EQ(at(choice, "prompt_logprobs.1.6.decoded_token"), Json());
  for (const char* body : {R"({"prompt":"text"})", R"({"prompt":[5],"stop":"x"})"}) {
    const auto refused = api.complete(body);
    EXPECT_EQ(refused->response.status, 400);
    EXPECT_NE(refused->response.body.find("tokenizer"), std::string::npos);
  }
}

TEST(Completions, AnyFailureAbortsTheOtherPrompts) {
  Api api;
  const auto exchange = api.complete(R"({"prompt":["a","b"]})");
  Delta fault;
  fault.finish_reason = FinishReason::kError;
  fault.error = internal_error("broken");
  api.engine->sinks[1](fault);
  EXPECT_EQ(exchange->response.status, 500);
  EXPECT_EQ(api.engine->aborted, (std::vector<std::int64_t>{0, 1}));
  api.engine->play(0, 0, "late", FinishReason::kAbort);
}

TEST(Completions, TellsTheTextOfWhatIsLeftOfAPrompt) {
  Api api;
  const auto exchange = api.complete(
      R"({"prompt":["abcdef",[120,121,122]],"truncate_prompt_tokens":2,"return_prompt_text":true,)"
      R"("echo":true})");
  EXPECT_EQ(api.prompt(0), "ef");
  api.engine->play(0, 0, "1", FinishReason::kStop);
  api.engine->play(1, 0, "2", FinishReason::kStop);
  EXPECT_EQ(at(exchange->json(), "choices.0.prompt_text"), Json("ef"));
  EXPECT_EQ(at(exchange->json(), "choices.0.text"), Json("ef1"));
  EXPECT_EQ(at(exchange->json(), "choices.1.prompt_text"), Json("yz"));
}

TEST(Completions, ChosenTokensTurnLogprobsOn) {
  Api api;
  api.complete(R"({"prompt":"a","logprob_token_ids":[1,2]})");
  EXPECT_EQ(api.engine->requests.at(0).sampling.logprobs, 0);
  std::string many = "0";
  for (int i = 0; i < 128; ++i) {
    many += ",0";
  }
  EXPECT_EQ(api.complete(R"({"prompt":"a","logprob_token_ids":[)" + many + "]}")->response.status,
            400);
}

TEST(Completions, RefusesWithTheFieldsName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "prompt"},
      {R"({"prompt":5})", "prompt"},
      {R"({"prompt":[]})", "prompt"},
      {R"({"prompt":""})", "prompt"},
      {R"({"prompt":[1,"x"]})", "prompt"},
      {R"({"prompt":["x",1]})", "prompt[1]"},
      {R"({"prompt":[[1],[300]]})", "prompt[1]"},
      {R"({"prompt":[-1]})", "prompt"},
      {R"({"prompt":["a","b"],"n":16384})", "prompt"},
      {R"({"prompt":"a","logprobs":6})", "logprobs"},
      {R"({"prompt":"a","logprobs":true})", "logprobs"},
      {R"({"prompt":"a","suffix":"b"})", "suffix"},
      {R"({"prompt":"a","best_of":2})", "best_of"},
      {R"({"prompt":"a","max_tokens":0})", "max_tokens"},
      {R"({"prompt":"a","echo":1})", "echo"},
  };
  for (const auto& [body, param] : cases) {
    Api api;
    const auto exchange = api.complete(body);
    EXPECT_EQ(exchange->response.status, 400) << body;
    EXPECT_EQ(at(exchange->json(), "error.param"), Json(param)) << exchange->response.body;
  }
}

}  // namespace
}  // namespace godwit
