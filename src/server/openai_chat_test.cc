#include "server/openai_chat.h"

#include "server/api_test_support.h"

namespace godwit {
namespace {

constexpr const char* kHello = R"("messages":[{"role":"user","content":"hi"}])";

std::string with(const std::string& fields) {
  return std::string("{") + kHello + "," + fields + "}";
}

TEST(Chat, RendersEncodesAndAnswersWithOneBody) {
  Api api;
  const auto exchange = api.chat(R"({"model":"bytes",)" + std::string(kHello) + "}");
  ASSERT_EQ(api.engine->requests.size(), 1U);
  EXPECT_EQ(api.prompt(0), "[user]hi[assistant]");
  // All the room that the prompt leaves.
  EXPECT_EQ(api.engine->requests[0].sampling.max_tokens, 100 - 19);
  EXPECT_FALSE(exchange->answered);
  api.engine->play(0, 0, "Hel", std::nullopt);
  api.engine->play(0, 0, "lo", FinishReason::kLength);
  EXPECT_EQ(exchange->response.status, 200);
  const Json body = exchange->json();
  EXPECT_TRUE(at(body, "id").as_string().starts_with("chatcmpl-"));
  EXPECT_EQ(at(body, "object"), Json("chat.completion"));
  EXPECT_EQ(at(body, "created"), Json(1'700'000'000));
  EXPECT_EQ(at(body, "model"), Json("bytes"));
  EXPECT_EQ(at(body, "choices.0.message.role"), Json("assistant"));
  EXPECT_EQ(at(body, "choices.0.message.content"), Json("Hello"));
  EXPECT_EQ(at(body, "choices.0.message").find("tool_calls"), nullptr);
  EXPECT_EQ(at(body, "choices.0.finish_reason"), Json("length"));
  EXPECT_EQ(at(body, "choices.0.stop_reason"), Json());
  EXPECT_EQ(at(body, "usage.prompt_tokens"), Json(19));
  EXPECT_EQ(at(body, "usage.completion_tokens"), Json(5));
  EXPECT_EQ(at(body, "usage.total_tokens"), Json(24));
  EXPECT_EQ(at(body, "usage.prompt_tokens_details.cached_tokens"), Json(0));
}

TEST(Chat, StreamsARoleThenTextThenTheEndThenUsage) {
  Api api;
  const auto exchange = api.chat(with(R"("stream":true,"stream_options":{"include_usage":true})"));
  EXPECT_TRUE(exchange->response.content_type.starts_with("text/event-stream"));
  EXPECT_EQ(exchange->response.body, "");
  api.engine->play(0, 0, "He", std::nullopt);
  api.engine->play(0, 0, "", std::nullopt);  // Held back: no chunk.
  api.engine->play(0, 0, "y", std::nullopt);
  api.engine->play(0, 0, "", FinishReason::kStop);
  const auto events = exchange->events();
  ASSERT_EQ(events.size(), 5U) << exchange->response.body;
  EXPECT_EQ(at(events[0], "object"), Json("chat.completion.chunk"));
  EXPECT_EQ(at(events[0], "choices.0.delta"),
            Json(JsonObject{{"role", "assistant"}, {"content", ""}}));
  EXPECT_EQ(at(events[0], "usage"), Json());
  EXPECT_EQ(at(events[1], "choices.0.delta"), Json(JsonObject{{"content", "He"}}));
  EXPECT_EQ(at(events[2], "choices.0.delta"), Json(JsonObject{{"content", "y"}}));
  EXPECT_EQ(at(events[3], "choices.0.delta"), Json(JsonObject()));
  EXPECT_EQ(at(events[3], "choices.0.finish_reason"), Json("stop"));
  EXPECT_EQ(at(events[4], "choices"), Json(JsonArray()));
  EXPECT_EQ(at(events[4], "usage.completion_tokens"), Json(3));
  EXPECT_EQ(at(events[4], "id"), at(events[0], "id"));
}

TEST(Chat, ContinuousUsageCountsInEveryChunk) {
  Api api;
  const auto exchange = api.chat(with(
      R"("stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true})"));
  api.engine->play(0, 0, "abc", std::nullopt);
  api.engine->play(0, 0, "de", FinishReason::kStop);
  const auto events = exchange->events();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(at(events[1], "usage.completion_tokens"), Json(3));
  EXPECT_EQ(at(events[2], "usage.completion_tokens"), Json(5));
}

TEST(Chat, SeveralOutputsInterleaveUnderTheirIndices) {
  Api api;
  const auto exchange = api.chat(with(R"("n":2,"stream":true)"));
  EXPECT_EQ(api.engine->requests[0].n, 2);
  api.engine->play(0, 1, "b", std::nullopt);
  api.engine->play(0, 0, "a", FinishReason::kStop);
  EXPECT_FALSE(exchange->finished);
  api.engine->play(0, 1, "B", FinishReason::kLength);
  const auto events = exchange->events();
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(at(events[0], "choices.0.index"), Json(1));
  EXPECT_EQ(at(events[1], "choices.0.index"), Json(1));
  EXPECT_EQ(at(events[2], "choices.0.index"), Json(0));
  EXPECT_EQ(at(events[3], "choices.0.index"), Json(0));
  EXPECT_EQ(at(events[4], "choices.0.finish_reason"), Json("length"));

  const auto body = api.chat(with(R"("n":2)"));
  api.engine->play(1, 1, "b", FinishReason::kStop);
  api.engine->play(1, 0, "a", FinishReason::kStop);
  EXPECT_EQ(at(body->json(), "choices.0.message.content"), Json("a"));
  EXPECT_EQ(at(body->json(), "choices.1.message.content"), Json("b"));
}

TEST(Chat, AnOutputsRoleComesWithItsOwnFirstText) {
  Api api;
  const auto exchange = api.chat(with(R"("stream":true,"n":16384)"));
  api.engine->play(0, 7, "a", std::nullopt);
  api.engine->play(0, 7, "b", std::nullopt);
  api.engine->play(0, 2, "c", std::nullopt);
  const std::vector<Json> events = exchange->events();
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(at(events[0], "choices.0.index"), Json(7));
  EXPECT_EQ(at(events[0], "choices.0.delta.role"), Json("assistant"));
  EXPECT_EQ(at(events[2], "choices.0.delta.content"), Json("b"));
  EXPECT_EQ(at(events[3], "choices.0.index"), Json(2));
  EXPECT_EQ(at(events[3], "choices.0.delta.role"), Json("assistant"));
}

TEST(Chat, StopReasonSaysWhatEndedTheOutput) {
  Api api;
  const auto text = api.chat(with(R"("stop":"END")"));
  EXPECT_EQ(api.engine->requests[0].sampling.stop, std::vector<std::string>{"END"});
  Delta by_string;
  by_string.finish_reason = FinishReason::kStop;
  by_string.stop_string = "END";
  api.engine->sinks[0](by_string);
  EXPECT_EQ(at(text->json(), "choices.0.stop_reason"), Json("END"));

  const auto token = api.chat(with(R"("stop_token_ids":[7],"stream":true)"));
  Delta by_token;
  by_token.finish_reason = FinishReason::kStop;
  by_token.stop_token = 7;
  api.engine->sinks[1](by_token);
  EXPECT_EQ(at(token->events().back(), "choices.0.stop_reason"), Json(7));
}

TEST(Chat, LogprobsShowTokenBytesAndAlternatives) {
  Api api;
  const auto exchange = api.chat(with(R"("logprobs":true,"top_logprobs":2)"));
  EXPECT_EQ(api.engine->requests[0].sampling.logprobs, 2);
  Delta delta;
  delta.text = "A";
  delta.token_ids = {65, 0xE2};
  delta.logprobs = {
      {.token = 65, .logprob = -0.5F, .rank = 1, .top = {{65, -0.5F}, {66, -1.0F}}},
      {.token = 0xE2, .logprob = -std::numeric_limits<float>::infinity(), .rank = 9, .top = {}}};
  delta.finish_reason = FinishReason::kLength;
  api.engine->sinks[0](delta);
  const Json body = exchange->json();
  const Json first = at(body, "choices.0.logprobs.content.0");
  EXPECT_EQ(at(first, "token"), Json("A"));
  EXPECT_EQ(at(first, "logprob"), Json(-0.5));
  EXPECT_EQ(at(first, "bytes"), Json(JsonArray{65}));
  EXPECT_EQ(at(first, "top_logprobs.1.token"), Json("B"));
  EXPECT_EQ(at(first, "top_logprobs.1.logprob"), Json(-1.0));
  const Json second = at(body, "choices.0.logprobs.content.1");
  EXPECT_EQ(at(second, "token"), Json("\xEF\xBF\xBD"));
  EXPECT_EQ(at(second, "bytes"), Json(JsonArray{0xE2}));
  EXPECT_EQ(at(second, "logprob"), Json(-9999.0));
}

TEST(Chat, PromptLogprobsAndTokenIdsAreGivenWhenAskedFor) {
  Api api;
  const auto exchange = api.chat(with(R"("prompt_logprobs":1,"return_token_ids":true)"));
  Delta delta;
  delta.text = "x";
  delta.token_ids = {120};
  delta.finish_reason = FinishReason::kLength;
  delta.cached_tokens = 16;
  delta.prompt_logprobs = {{.token = 117, .logprob = -2.0F, .rank = 3, .top = {{65, -0.25F}}}};
  api.engine->sinks[0](delta);
  const Json body = exchange->json();
  EXPECT_EQ(at(body, "prompt_logprobs.0"), Json());
  EXPECT_EQ(at(body, "prompt_logprobs.1.117"),
            Json(JsonObject{{"logprob", -2.0}, {"rank", 3}, {"decoded_token", "u"}}));
  EXPECT_EQ(at(body, "prompt_logprobs.1.65.rank"), Json(1));
  EXPECT_EQ(at(body, "prompt_token_ids.0"), Json('['));
  EXPECT_EQ(at(body, "choices.0.token_ids"), Json(JsonArray{120}));
  EXPECT_EQ(at(body, "usage.prompt_tokens_details.cached_tokens"), Json(16));
}

TEST(Chat, AClientThatLeavesAbortsItsRequest) {
  Api api;
  const auto exchange = api.chat(with(R"("stream":true)"));
  api.engine->play(0, 0, "a", std::nullopt);
  exchange->disconnect();
  EXPECT_EQ(api.engine->aborted, std::vector<std::int64_t>{0});
  const std::string sent = exchange->response.body;
  api.engine->play(0, 0, "b", FinishReason::kAbort);
  EXPECT_EQ(exchange->response.body, sent);
}

TEST(Chat, AFaultIsAnErrorBodyOrAnErrorEvent) {
  Api api;
  Delta fault;
  fault.finish_reason = FinishReason::kError;
  fault.error = internal_error("the device is lost");
  const auto body = api.chat(with(R"("n":1)"));
  api.engine->sinks[0](fault);
  EXPECT_EQ(body->response.status, 500);
  EXPECT_EQ(at(body->json(), "error.type"), Json("server_error"));
  const auto stream = api.chat(with(R"("stream":true)"));
  api.engine->play(1, 0, "a", std::nullopt);
  api.engine->sinks[1](fault);
  EXPECT_EQ(at(stream->events().back(), "error.message"), Json("the device is lost"));
  EXPECT_TRUE(stream->finished);
}

TEST(Chat, ARefusedRequestIsAnErrorEvenWhenStreaming) {
  Api api;
  api.engine->refusal = resource_exhausted("16384 requests wait already", "try again later");
  const auto exchange = api.chat(with(R"("stream":true)"));
  EXPECT_EQ(exchange->response.status, 503);
  EXPECT_EQ(at(exchange->json(), "error.type"), Json("server_error"));
}

TEST(Chat, TheTemplateSeesToolsAndFurtherVariables) {
  Api api;
  api.chat(with(R"("tools":[{"type":"function"}],"tool_choice":"none",)"
                R"("chat_template_kwargs":{"extra":"e"},"add_generation_prompt":false)"));
  ASSERT_EQ(api.engine->requests.size(), 1U);
  EXPECT_EQ(api.prompt(0), "[user]hi<1>(e)");
}

TEST(Chat, PartsOfTextAreJoined) {
  Api api;
  api.chat(R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},)"
           R"({"type":"text","text":"b"}]},{"role":"assistant","content":null}]})");
  ASSERT_EQ(api.engine->requests.size(), 1U);
  EXPECT_EQ(api.prompt(0), "[user]a\nb[assistant][assistant]");
}

TEST(Chat, GoesOnWithTheLastMessageAndEchoesIt) {
  Api api;
  const auto exchange = api.chat(
      R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"It is"}],)"
      R"("add_generation_prompt":false,"continue_final_message":true,"echo":true})");
  ASSERT_EQ(api.engine->requests.size(), 1U) << exchange->response.body;
  EXPECT_EQ(api.prompt(0), "[user]a[assistant]It is");
  api.engine->play(0, 0, " so", FinishReason::kStop);
  EXPECT_EQ(at(exchange->json(), "choices.0.message.content"), Json("It is so"));
}

TEST(Chat, RefusesWithTheFieldsName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"messages":5})", "messages"},
      {R"({"messages":[]})", "messages"},
      {R"({})", "messages"},
      {R"({"messages":[1]})", "messages[0]"},
      {R"({"messages":[{"role":1,"content":""}]})", "messages[0].role"},
      {R"({"messages":[{"role":"user","content":5}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})",
       "messages[0].content[0]"},
      {R"("temperature":"hot")", "temperature"},
      {R"("temperature":-1)", "temperature"},
      {R"("top_p":0)", "top_p"},
      {R"("n":0)", "n"},
      {R"("n":1.5)", "n"},
      {R"("max_tokens":0)", "max_tokens"},
      {R"("max_tokens":"5")", "max_tokens"},
      {R"("seed":1e300)", "seed"},
      {R"("stop":[1])", "stop"},
      {R"("stop":[""])", "stop"},
      {R"("stop_token_ids":[300])", "stop_token_ids"},
      {R"("logit_bias":{"x":1})", "logit_bias"},
      {R"("logit_bias":{"5":101})", "logit_bias"},
      {R"("top_logprobs":2)", "top_logprobs"},
      {R"("logprobs":true,"top_logprobs":6)", "top_logprobs"},
      {R"("logprobs":3)", "logprobs"},
      {R"("prompt_logprobs":6)", "prompt_logprobs"},
      {R"("prompt_logprobs":1,"stream":true)", "prompt_logprobs"},
      {R"("stream_options":{"include_usage":true})", "stream_options"},
      {R"("continue_final_message":true)", "continue_final_message"},
      {R"("tools":[{"type":"function"}])", "tool_choice"},
      {R"("tool_choice":"auto")", "tool_choice"},
      {R"("response_format":{"type":"json_object"})", "response_format"},
      {R"("bad_words":[""])", "bad_words"},
      {R"("bad_words":7)", "bad_words"},
      {R"("allowed_token_ids":[])", "allowed_token_ids"},
      {R"("allowed_token_ids":[300])", "allowed_token_ids"},
      {R"("logprob_token_ids":[-1])", "logprob_token_ids"},
      {R"("repetition_detection":{"max_pattern_size":2})", "repetition_detection.min_count"},
      {R"("repetition_detection":{"min_pattern_size":2})", "repetition_detection.min_pattern_size"},
      {R"("truncate_prompt_tokens":-2)", "truncate_prompt_tokens"},
      {R"("truncate_prompt_tokens":99,"max_tokens":2)", "truncate_prompt_tokens"},
      {R"("truncation_side":"middle")", "truncation_side"},
      {R"("reasoning_effort":"much")", "reasoning_effort"},
      {R"("stream_interval":0)", "stream_interval"},
      {R"("return_token_offsets":true)", "return_token_offsets"},
      {R"("chat_template":"{% if %}")", "chat_template"},
      {R"("use_beam_search":true)", "use_beam_search"},
      {R"("modalities":["audio"])", "modalities"},
      {R"("cache_salt":"")", "cache_salt"},
      {R"("cache_salt":"a/b")", "cache_salt"},
      {R"("cache_salt":"a\u0000b")", "cache_salt"},
      {R"("priority":3000000000)", "priority"},
  };
  for (const auto& [fields, param] : cases) {
    Api api;
    const std::string text = fields;
    const auto exchange = api.chat(text.starts_with("{") ? text : with(text));
    EXPECT_EQ(exchange->response.status, 400) << text;
    EXPECT_EQ(at(exchange->json(), "error.param"), Json(param)) << exchange->response.body;
    EXPECT_EQ(at(exchange->json(), "error.type"), Json("invalid_request_error"));
    EXPECT_TRUE(api.engine->requests.empty()) << text;
  }
}

TEST(Chat, NullAndNeutralValuesOfUnsupportedFieldsAreTaken) {
  Api api;
  api.chat(with(R"("response_format":{"type":"text"},"bad_words":[],"best_of":1,"tools":null,)"
                R"("length_penalty":1,"structured_outputs":null,"temperature":null,"stop":null,)"
                R"("user":"u","n":1.0,"an_unknown_field":{"x":1},"modalities":["text"])"));
  EXPECT_EQ(api.engine->requests.size(), 1U);
}

TEST(Chat, TheTemplatesOwnRefusalIsA400) {
  Api api;
  const auto exchange = api.chat(R"({"messages":[{"role":"bad","content":"x"}]})");
  EXPECT_EQ(exchange->response.status, 400);
  EXPECT_NE(exchange->response.body.find("bad role"), std::string::npos);
}

TEST(Chat, SaysHowFarARequestPassesTheContext) {
  Api api;
  const auto too_much = api.chat(with(R"("max_completion_tokens":82)"));
  EXPECT_EQ(too_much->response.status, 400);
  for (const char* number : {"100", "19", "82", "81"}) {
    EXPECT_NE(too_much->response.body.find(number), std::string::npos) << number;
  }
  const auto too_long =
      api.chat(R"({"messages":[{"role":"user","content":")" + std::string(100, 'x') + R"("}]})");
  EXPECT_EQ(too_long->response.status, 400);
  EXPECT_NE(too_long->response.body.find("117"), std::string::npos) << too_long->response.body;
}

TEST(Chat, NeedsATokenizer) {
  Api api(false);
  const auto exchange = api.chat(with(R"("n":1)"));
  EXPECT_EQ(exchange->response.status, 400);
  EXPECT_NE(exchange->response.body.find("tokenizer"), std::string::npos);
}

TEST(Chat, AllSamplingFieldsReachTheEngine) {
  Api api;
  api.context.model.defaults.top_k = 40;
  api.context.model.defaults.temperature = 0.5F;
  api.chat(with(
      R"("temperature":0,"top_p":0.9,"min_p":0.1,"seed":-3,"stop":["a","b"],"ignore_eos":true,)"
      R"("stop_token_ids":[1,2],"include_stop_str_in_output":true,"min_tokens":2,"max_tokens":9,)"
      R"("n":3,"presence_penalty":1,"frequency_penalty":-1,"repetition_penalty":1.1,)"
      R"("logit_bias":{"5":-100},"skip_special_tokens":false,"priority":-4,"cache_salt":"s",)"
      R"("request_id":"mine")"));
  ASSERT_EQ(api.engine->requests.size(), 1U);
  const Request& request = api.engine->requests[0];
  EXPECT_EQ(request.id, "chatcmpl-mine");
  EXPECT_EQ(request.n, 3);
  EXPECT_EQ(request.priority, -4);
  EXPECT_EQ(request.cache_salt, "s");
  EXPECT_TRUE(request.detokenize);
  EXPECT_EQ(request.sampling.temperature, 0.0F);
  EXPECT_EQ(request.sampling.top_p, 0.9F);
  EXPECT_EQ(request.sampling.top_k, 40);
  EXPECT_EQ(request.sampling.min_p, 0.1F);
  EXPECT_EQ(request.sampling.seed, -3);
  EXPECT_EQ(request.sampling.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.sampling.stop_token_ids, (std::vector<TokenId>{1, 2}));
  EXPECT_TRUE(request.sampling.ignore_eos);
  EXPECT_TRUE(request.sampling.include_stop_str_in_output);
  EXPECT_FALSE(request.sampling.skip_special_tokens);
  EXPECT_EQ(request.sampling.min_tokens, 2);
  EXPECT_EQ(request.sampling.max_tokens, 9);
  EXPECT_EQ(request.sampling.presence_penalty, 1.0F);
  EXPECT_EQ(request.sampling.frequency_penalty, -1.0F);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.1F);
  ASSERT_EQ(request.sampling.logit_bias.size(), 1U);
  EXPECT_EQ(request.sampling.logit_bias[0].first, 5);
}

TEST(Chat, WhatRulesTokensReachesTheEngine) {
  Api api;
  api.chat(
      with(R"("allowed_token_ids":[9,7,9],"bad_words":["ab"," c"],"logprob_token_ids":[4],)"
           R"("repetition_detection":{"max_pattern_size":3,"min_pattern_size":1,"min_count":4})"));
  ASSERT_EQ(api.engine->requests.size(), 1U);
  const SamplingParams& sampling = api.engine->requests[0].sampling;
  ASSERT_NE(sampling.token_rules, nullptr);
  EXPECT_EQ(sampling.token_rules->allowed, (std::vector<TokenId>{7, 9}));
  // With a byte a token, a space before a word makes it longer, so the bare forms stand alone.
  EXPECT_EQ(sampling.token_rules->banned, (std::vector<std::vector<TokenId>>{{'a', 'b'}, {'c'}}));
  EXPECT_EQ(sampling.logprobs, 0) << "they are asked for";
  EXPECT_EQ(sampling.logprob_token_ids, (std::vector<TokenId>{4}));
  EXPECT_EQ(sampling.repetition_detection.max_pattern_size, 3);
  EXPECT_EQ(sampling.repetition_detection.min_pattern_size, 1);
  EXPECT_EQ(sampling.repetition_detection.min_count, 4);
}

TEST(Chat, TheRequestMayBringTemplateAndVariables) {
  Api api;
  api.chat(
      with(R"("chat_template":"{{ messages[0].content }}/{{ reasoning_effort }}/{{ x }}",)"
           R"("reasoning_effort":"high","chat_template_kwargs":{"x":1,"reasoning_effort":2})"));
  EXPECT_EQ(api.prompt(0), "hi/high/1");
  api.chat(R"({"chat_template":"{{ messages[0].reasoning_content }}",)"
           R"("messages":[{"role":"assistant","content":"c","reasoning":"why"}]})");
  EXPECT_EQ(api.prompt(1), "why");
}

TEST(Chat, ALongPromptIsCutWhereItIsAsked) {
  Api api;
  const auto kept = api.chat(with(R"("truncate_prompt_tokens":4,"return_prompt_text":true)"));
  EXPECT_EQ(api.prompt(0), "ant]");
  api.engine->play(0, 0, "x", FinishReason::kStop);
  EXPECT_EQ(at(kept->json(), "usage.prompt_tokens"), Json(4));
  EXPECT_EQ(at(kept->json(), "prompt_text"), Json("ant]"));
  api.chat(with(R"("truncate_prompt_tokens":4,"truncation_side":"right")"));
  EXPECT_EQ(api.prompt(1), "[use");
  api.chat(R"({"truncate_prompt_tokens":-1,"max_tokens":7,"messages":[{"role":"user","content":")" +
           std::string(200, 'y') + R"("}]})");
  EXPECT_EQ(api.prompt(2).size(), 93U);
  api.chat(with(R"("truncate_prompt_tokens":50)"));
  EXPECT_EQ(api.prompt(3), "[user]hi[assistant]");
}

TEST(Chat, AnIntervalGathersTokensIntoFewerEvents) {
  Api api;
  const auto exchange =
      api.chat(with(R"("stream":true,"stream_interval":3,"return_token_ids":true)"));
  for (const char* token : {"a", "b", "c", "d", "e", "f"}) {
    api.engine->play(0, 0, token, std::nullopt);
  }
  api.engine->play(0, 0, "g", FinishReason::kLength);
  std::string texts;
  std::size_t tokens = 0;
  for (const Json& event : exchange->events()) {
    const Json text = at(event, "choices.0.delta.content");
    texts += (text.is_string() ? text.as_string() : "") + "|";
    const Json ids = at(event, "choices.0.token_ids");
    tokens += ids.is_array() ? ids.as_array().size() : 0;
  }
  EXPECT_EQ(texts, "|a|bcd|efg|");
  EXPECT_EQ(tokens, 7U);
}

TEST(Chat, ARepetitionIsNamedAsTheReason) {
  Api api;
  const auto exchange = api.chat(with(R"("n":1)"));
  api.engine->play(0, 0, "aaa", FinishReason::kRepetition);
  EXPECT_EQ(at(exchange->json(), "choices.0.finish_reason"), Json("repetition"));
  EXPECT_EQ(at(exchange->json(), "choices.0.stop_reason"), Json("repetition_detected"));
}

}  // namespace
}  // namespace godwit
