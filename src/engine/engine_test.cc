// What the engine does with requests beside their numbers: stops, n, seeds, aborts, limits, recall.

#include <functional>
#include <numeric>
#include <stdexcept>

#include <gtest/gtest.h>

#include "engine/metrics.h"
#include "engine/testing/engine_rig.h"
#include "support/fixtures.h"
#include "text/tokenizer_files.h"

namespace godwit {
namespace {

std::filesystem::path tiny_dense() {
  return test::test_data() / "models" / "tiny-dense";
}

class EngineTest : public testing::Test {
 protected:
  static test::RigOptions options() {
    test::RigOptions options;
    options.runner.device_options.threads = 2;
    options.runner.eos_ids = {2, 0};
    options.tokenizer =
        std::make_shared<const Tokenizer>(std::move(load_tokenizer(tiny_dense())).value());
    return options;
  }

  static Request request(std::vector<TokenId> prompt, std::int64_t max_tokens = 8) {
    Request request;
    request.id = "test";
    request.prompt = std::move(prompt);
    request.sampling.max_tokens = max_tokens;
    request.sampling.temperature = 0.0F;
    return request;
  }
};

std::vector<TokenId> to_ids(const Json& list) {
  std::vector<TokenId> ids;
  for (const Json& id : list.as_array()) {
    ids.push_back(static_cast<TokenId>(*id.to_int64()));
  }
  return ids;
}

/// How many of the recorded answers a model repeats. Others must be ones that were in doubt.
std::size_t repeated_recall(test::EngineRig& rig, const char* model,
                            const std::function<Request(std::vector<TokenId>)>& request_of) {
  const std::vector<Json> rows = test::read_json_lines(test::test_data() / "recall_eval.jsonl.gz");
  std::vector<Request> requests;
  for (const Json& row : rows) {
    requests.push_back(request_of(to_ids(*row.find("prompt_ids"))));
  }
  const std::vector<test::Answer> answers = rig.answer(std::move(requests));
  std::size_t equal = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json& recorded = *rows[i].find("hf")->find(model);
    const bool same = answers[i].tokens == to_ids(*recorded.find("greedy_ids"));
    equal += same ? 1 : 0;
    EXPECT_TRUE(same || recorded.find("first_margin")->as_double() < 0.5) << "row " << i;
  }
  EXPECT_GT(rig.engine().counters().shared_steps, 0);
  return equal;
}

TEST_F(EngineTest, RecallIsAsHuggingFaceRecordedIt) {
  test::EngineRig rig(tiny_dense(), options());
  EXPECT_GE(repeated_recall(rig, "tiny-dense",
                            [](auto prompt) { return request(std::move(prompt), 16); }),
            198U);
}

TEST_F(EngineTest, LatentAttentionRecallsWhatHuggingFaceRecorded) {
  const auto model = test::model_fixture("tiny-mla-moe");
  if (!model) {
    GTEST_SKIP() << "only ../shared/fixtures has it";
  }
  test::EngineRig rig(*model, options());
  EXPECT_EQ(repeated_recall(rig, "tiny-mla-moe",
                            [](auto prompt) { return request(std::move(prompt), 16); }),
            200U);
}

TEST_F(EngineTest, RecurrentLayersRecallWhatHuggingFaceRecorded) {
  const auto model = test::model_fixture("tiny-hybrid-moe");
  if (!model) {
    GTEST_SKIP() << "only ../shared/fixtures has it";
  }
  test::EngineRig rig(*model, options());
  EXPECT_EQ(repeated_recall(rig, "tiny-hybrid-moe",
                            [](auto prompt) { return request(std::move(prompt), 16); }),
            200U);
}

TEST_F(EngineTest, EndOfSequenceStopsAndIsIgnoredOnRequest) {
  test::EngineRig rig(tiny_dense(), options());
  const Json row = test::read_json_lines(test::test_data() / "recall_eval.jsonl.gz").front();
  Request normal = request(to_ids(*row.find("prompt_ids")), 16);
  Request ignoring = normal;
  ignoring.sampling.ignore_eos = true;
  Request late = normal;
  late.sampling.min_tokens = 9;
  const std::vector<test::Answer> answers = rig.answer({normal, ignoring, late});
  EXPECT_EQ(answers[0].finish_reason, FinishReason::kStop);
  EXPECT_EQ(answers[0].tokens.back(), 2);
  EXPECT_EQ(answers[0].text, row.find("answer")->as_string());
  EXPECT_EQ(answers[1].finish_reason, FinishReason::kLength);
  EXPECT_EQ(answers[1].tokens.size(), 16U);
  EXPECT_GE(answers[2].tokens.size(), 9U);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NE(answers[2].tokens[i], 2);
    EXPECT_NE(answers[2].tokens[i], 0);
  }
}

TEST_F(EngineTest, SeedsRepeatAndOutputsDiffer) {
  test::EngineRig rig(tiny_dense(), options());
  Request wanted = request({40, 41, 42}, 12);
  wanted.n = 3;
  wanted.sampling.temperature = 1.5F;
  wanted.sampling.seed = 11;
  wanted.sampling.ignore_eos = true;
  const std::vector<test::Answer> first = rig.start(wanted).get();
  const std::vector<test::Answer> second = rig.start(wanted).get();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(first[i].tokens, second[i].tokens);
  }
  EXPECT_NE(first[0].tokens, first[1].tokens);
  Request single = wanted;
  single.n = 1;
  single.sampling.seed = 12;
  EXPECT_EQ(rig.start(single).get().front().tokens, first[1].tokens);
}

TEST_F(EngineTest, OutputsOfOneRequestShareItsPrompt) {
  test::EngineRig rig(tiny_dense(), options());
  std::vector<TokenId> prompt(100);
  std::iota(prompt.begin(), prompt.end(), 10);
  Request wanted = request(prompt, 4);
  wanted.n = 4;
  const std::vector<test::Answer> answers = rig.start(wanted).get();
  EXPECT_EQ(answers[3].tokens, answers[0].tokens);
  // All whole blocks but that of the last position, for all outputs but the first.
  EXPECT_EQ(rig.engine().counters().prefix_hit_tokens, 3 * 96);
}

TEST_F(EngineTest, PenaltiesAndBiasSteerTheTokens) {
  test::EngineRig rig(tiny_dense(), options());
  Request plain = request({40, 41, 42}, 24);
  plain.sampling.ignore_eos = true;
  Request forced = plain;
  forced.sampling.logit_bias = {{77, 100.0F}};
  Request varied = forced;
  varied.sampling.frequency_penalty = 2.0F;
  varied.sampling.logit_bias = {{77, 20.0F}};
  const std::vector<test::Answer> answers = rig.answer({plain, forced, varied});
  EXPECT_EQ(answers[1].tokens, std::vector<TokenId>(24, 77));
  EXPECT_EQ(answers[2].tokens.front(), 77);
  EXPECT_NE(answers[2].tokens, std::vector<TokenId>(24, 77));
}

TEST_F(EngineTest, PromptLogprobsCoverEveryPromptTokenButTheFirst) {
  test::EngineRig rig(tiny_dense(), options());
  std::vector<TokenId> prompt;
  for (TokenId id = 0; id < 150; ++id) {
    prompt.push_back(3 + id * 7 % 1000);
  }
  Request wanted = request(prompt, 2);
  wanted.sampling.prompt_logprobs = 2;
  const test::Answer answer = rig.start(wanted).get().front();
  ASSERT_EQ(answer.prompt_logprobs.size(), prompt.size() - 1);
  for (std::size_t i = 0; i + 1 < prompt.size(); ++i) {
    EXPECT_EQ(answer.prompt_logprobs[i].token, prompt[i + 1]);
    EXPECT_LT(answer.prompt_logprobs[i].logprob, 0.0F);
    EXPECT_EQ(answer.prompt_logprobs[i].top.size(), 2U);
  }
  Request alone = wanted;
  alone.sampling.max_tokens = 0;
  const test::Answer echoed = rig.start(alone).get().front();
  EXPECT_EQ(echoed.prompt_logprobs.size(), prompt.size() - 1);
  EXPECT_TRUE(echoed.tokens.empty());
  EXPECT_EQ(echoed.finish_reason, FinishReason::kLength);
}

TEST_F(EngineTest, AbortEndsARequestWithinAStepAndFreesItsMemory) {
  test::EngineRig rig(tiny_dense(), options());
  std::promise<Delta> last;
  std::promise<void> first;
  bool started = false;
  Request endless = request({40, 41, 42}, 900);
  endless.sampling.ignore_eos = true;
  const RequestKey key = std::move(rig.engine().submit(std::move(endless), [&](Delta delta) {
                           if (!started) {
                             started = true;
                             first.set_value();
                           }
                           if (delta.finish_reason) {
                             last.set_value(std::move(delta));
                           }
                         })).value();
  first.get_future().wait();
  rig.engine().abort(key);
  EXPECT_EQ(last.get_future().get().finish_reason, FinishReason::kAbort);
  // Nothing runs any more, and the load says so although no step follows.
  const std::string exposed = rig.engine().metrics().expose();
  const std::size_t gauge = exposed.find("\nvllm:num_requests_running{");
  ASSERT_NE(gauge, std::string::npos);
  EXPECT_EQ(exposed.substr(exposed.find("} ", gauge) + 2, 2), "0\n");
  rig.engine().abort(key);  // Nothing is left to abort.
  EXPECT_EQ(rig.answer({request({50, 51}, 4)}).front().tokens.size(), 4U);
}

TEST_F(EngineTest, RefusesWhatCannotRunAndNamesIt) {
  test::EngineRig rig(tiny_dense(), options());
  const auto refusal = [&](Request wanted) {
    const Result<RequestKey> key = rig.engine().submit(std::move(wanted), [](const Delta&) {});
    EXPECT_FALSE(key.ok());
    return key.ok() ? std::string() : key.status().message();
  };
  EXPECT_NE(refusal(request({})).find("prompt"), std::string::npos);
  EXPECT_NE(refusal(request({2048})).find("2048"), std::string::npos);
  EXPECT_NE(refusal(request({-1})).find("-1"), std::string::npos);
  EXPECT_NE(refusal(request(std::vector<TokenId>(1024, 5))).find("1024"), std::string::npos);
  Request wide = request({5});
  wide.sampling.logprobs = 21;
  EXPECT_NE(refusal(wide).find("logprobs"), std::string::npos);
  Request biased = request({5});
  biased.sampling.logit_bias = {{5000, 1.0F}};
  EXPECT_NE(refusal(biased).find("logit_bias"), std::string::npos);
}

TEST_F(EngineTest, DestructionEndsWhatStillRuns) {
  std::promise<FinishReason> last;
  {
    test::EngineRig rig(tiny_dense(), options());
    Request endless = request({40, 41, 42}, 900);
    endless.sampling.ignore_eos = true;
    ASSERT_TRUE(rig.engine()
                    .submit(std::move(endless),
                            [&](const Delta& delta) {
                              if (delta.finish_reason) {
                                last.set_value(*delta.finish_reason);
                              }
                            })
                    .ok());
  }
  EXPECT_EQ(last.get_future().get(), FinishReason::kAbort);
}

TEST_F(EngineTest, DrainRefusesNewRequests) {
  test::EngineRig rig(tiny_dense(), options());
  std::future<std::vector<test::Answer>> running = rig.start(request({40, 41}, 4));
  rig.engine().drain();
  const Result<RequestKey> refused = rig.engine().submit(request({5}), [](const Delta&) {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(running.get().front().tokens.size(), 4U);
}

TEST_F(EngineTest, APromptWithoutOutputMayFillTheWholeContext) {
  test::EngineRig rig(tiny_dense(), options());
  Request whole = request(std::vector<TokenId>(1024, 5), 0);
  whole.sampling.prompt_logprobs = 0;
  const test::Answer answer = rig.start(whole).get().front();
  EXPECT_EQ(answer.finish_reason, FinishReason::kLength) << answer.error.message();
  EXPECT_EQ(answer.prompt_logprobs.size(), 1023U);
}

TEST_F(EngineTest, TheQueueCountsEveryOutput) {
  test::RigOptions small = options();
  small.engine.max_queued_requests = 3;
  test::EngineRig rig(tiny_dense(), small);
  Request wide = request({40, 41}, 900);
  wide.sampling.ignore_eos = true;
  wide.n = 3;
  std::future<std::vector<test::Answer>> running = rig.start(wide);
  const Result<RequestKey> refused = rig.engine().submit(request({5}), [](const Delta&) {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  running.get();
  EXPECT_TRUE(rig.engine().submit(request({5}), [](const Delta&) {}).ok());
}

TEST_F(EngineTest, AFaultOfTheLoopEndsWhatRunsAndWhatHasJustCome) {
  test::EngineRig rig(tiny_dense(), options());
  std::promise<Delta> running;
  std::promise<Delta> arrived;
  bool thrown = false;
  const auto fault_once = [&](Delta delta) {
    if (!thrown) {
      thrown = true;
      // This one comes while the step runs that will be the last.
      const auto late = [&](Delta end) { arrived.set_value(std::move(end)); };
      EXPECT_TRUE(rig.engine().submit(request({5}), late).ok());
      throw std::runtime_error("planted");
    }
    running.set_value(std::move(delta));
  };
  ASSERT_TRUE(rig.engine().submit(request({40, 41, 42}), fault_once).ok());
  for (std::promise<Delta>* last : {&running, &arrived}) {
    std::future<Delta> future = last->get_future();
    ASSERT_EQ(future.wait_for(std::chrono::seconds(30)), std::future_status::ready);
    const Delta delta = future.get();
    EXPECT_EQ(delta.finish_reason, FinishReason::kError);
    EXPECT_NE(delta.error.message().find("planted"), std::string::npos);
  }
  EXPECT_FALSE(rig.engine().alive());
  const Result<RequestKey> refused = rig.engine().submit(request({5}), [](const Delta&) {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("fault"), std::string::npos);
}

TEST_F(EngineTest, OddSizesGiveTheSameAnswers) {
  // Prompts that end at, before and behind a block's end, n > 1, prompt log probabilities and
  // penalties, through caches that hold little more than one sequence.
  std::vector<TokenId> prompt;
  for (TokenId id = 0; id < 51; ++id) {
    prompt.push_back(3 + id * 7 % 1000);
  }
  const auto answers = [&](const test::RigOptions& rig_options) {
    test::EngineRig rig(tiny_dense(), rig_options);
    std::vector<std::future<std::vector<test::Answer>>> futures;
    for (const std::size_t length : {1, 3, 34, 51}) {
      Request wanted = request({prompt.begin(), prompt.begin() + std::ptrdiff_t(length)}, 9);
      wanted.n = 5;
      wanted.priority = static_cast<std::int32_t>(length % 2);
      wanted.sampling.seed = 4;
      wanted.sampling.temperature = 1.0F;
      wanted.sampling.ignore_eos = true;
      wanted.sampling.frequency_penalty = 1.0F;
      wanted.sampling.repetition_penalty = 1.3F;
      wanted.sampling.logprobs = 2;
      wanted.sampling.prompt_logprobs = 1;
      futures.push_back(rig.start(std::move(wanted)));
    }
    std::vector<test::Answer> all;
    for (auto& future : futures) {
      for (test::Answer& answer : future.get()) {
        all.push_back(std::move(answer));
      }
    }
    return std::pair(std::move(all), rig.engine().counters());
  };
  const auto [expected, plain] = answers(options());
  EXPECT_EQ(plain.preemptions, 0);
  const struct {
    std::int64_t block_size, num_seqs, batched_tokens, blocks;
  } kCases[] = {{1, 7, 5, 80}, {3, 32, 11, 22}, {17, 4, 64, 4}, {4096, 2, 1, 1}, {16, 1, 1, 4}};
  std::int64_t preemptions = 0;
  for (const auto& odd : kCases) {
    SCOPED_TRACE(odd.block_size);
    test::RigOptions small = options();
    small.engine.schedule_by_priority = odd.block_size == 3;
    small.engine.max_num_batched_tokens = odd.batched_tokens;
    small.runner.memory.max_model_len = 60;
    small.runner.memory.block_size = odd.block_size;
    small.runner.memory.max_num_seqs = odd.num_seqs;
    small.runner.memory.kv_cache_bytes =
        static_cast<std::size_t>(odd.blocks * odd.block_size) * 2560;  // As memory_plan_test.cc.
    const auto [actual, counters] = answers(small);
    preemptions += counters.preemptions;
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      EXPECT_EQ(actual[i].tokens, expected[i].tokens) << "output " << i;
      EXPECT_EQ(actual[i].finish_reason, FinishReason::kLength) << actual[i].error.message();
      ASSERT_EQ(actual[i].prompt_logprobs.size(), expected[i].prompt_logprobs.size());
      for (std::size_t t = 0; t < actual[i].prompt_logprobs.size(); ++t) {
        EXPECT_EQ(actual[i].prompt_logprobs[t].logprob, expected[i].prompt_logprobs[t].logprob);
      }
      ASSERT_EQ(actual[i].logprobs.size(), expected[i].logprobs.size());
      for (std::size_t t = 0; t < actual[i].logprobs.size(); ++t) {
        EXPECT_EQ(actual[i].logprobs[t].logprob, expected[i].logprobs[t].logprob);
      }
    }
  }
  EXPECT_GT(preemptions, 0);
}

TEST_F(EngineTest, AContextOfTwoTokensAnswersOne) {
  test::RigOptions small = options();
  small.runner.memory.max_model_len = 2;
  test::EngineRig rig(tiny_dense(), small);
  Request shortest = request({40}, 16);
  shortest.n = 32;
  for (const test::Answer& answer : rig.start(shortest).get()) {
    EXPECT_EQ(answer.tokens.size(), 1U);
  }
}

TEST_F(EngineTest, PreemptionsOfARequestAreExported) {
  test::RigOptions small = options();
  small.engine.model_name = "m";
  small.runner.memory.max_model_len = 64;
  small.runner.memory.kv_cache_bytes = std::size_t{5} * 16 * 2560;
  test::EngineRig rig(tiny_dense(), small);
  Request wanted = request(std::vector<TokenId>(20, 40), 40);
  wanted.sampling.ignore_eos = true;
  wanted.n = 2;
  rig.start(wanted).get();
  rig.start(request({5}, 1)).get();  // By then the first is booked.
  const std::int64_t preemptions = rig.engine().counters().preemptions;
  EXPECT_GT(preemptions, 0);
  const std::string sum = "vllm:request_num_preemptions_sum{engine=\"0\",model_name=\"m\"} ";
  EXPECT_NE(rig.engine().metrics().expose().find(sum + std::to_string(preemptions) + "\n"),
            std::string::npos);
}

}  // namespace
}  // namespace godwit
