#include "engine/output_stream.h"

#include <gtest/gtest.h>

#include "support/fixtures.h"
#include "text/tokenizer_files.h"

namespace godwit {
namespace {

class OutputStreamTest : public testing::Test {
 protected:
  OutputStreamTest()
      : tokenizer_(std::move(load_tokenizer(test::test_data() / "models" / "tiny-dense")).value()) {
  }

  /// Feeds the tokens of `text` one by one; returns the text of each delta, until one ends it.
  std::vector<Delta> stream(const Request& request, const std::string& text) {
    OutputStream output(&tokenizer_, request);
    std::vector<Delta> deltas;
    for (const TokenId token : tokenizer_.encode(text, {.add_special_tokens = false})) {
      output.emit(token, deltas.emplace_back());
      if (deltas.back().finish_reason) {
        return deltas;
      }
    }
    output.flush(deltas.emplace_back());
    return deltas;
  }

  static std::string join(const std::vector<Delta>& deltas) {
    std::string text;
    for (const Delta& delta : deltas) {
      text += delta.text;
    }
    return text;
  }

  Tokenizer tokenizer_;
};

Request request_with_stops(std::vector<std::string> stops) {
  Request request;
  request.prompt = {5};
  request.sampling.max_tokens = 100;
  request.sampling.stop = std::move(stops);
  return request;
}

TEST_F(OutputStreamTest, WithoutStopStringsEverythingIsSent) {
  const Request request = request_with_stops({});
  EXPECT_EQ(join(stream(request, "To be, or not to be \xF0\x9F\x98\x80")),
            "To be, or not to be \xF0\x9F\x98\x80");
}

TEST_F(OutputStreamTest, StopStringAcrossTokensIsCutAndNoPartOfItIsSent) {
  const Request request = request_with_stops({"to be"});
  const std::vector<Delta> deltas = stream(request, "whether to be or not");
  EXPECT_EQ(join(deltas), "whether ");
  EXPECT_EQ(deltas.back().finish_reason, FinishReason::kStop);
  EXPECT_EQ(deltas.back().stop_string, "to be");
}

TEST_F(OutputStreamTest, FalseAlarmIsSentLater) {
  const Request request = request_with_stops({"not to bet"});
  EXPECT_EQ(join(stream(request, "or not to be")), "or not to be");
}

TEST_F(OutputStreamTest, StopStringIsIncludedWhenAskedFor) {
  Request request = request_with_stops({"to be"});
  request.sampling.include_stop_str_in_output = true;
  const std::vector<Delta> deltas = stream(request, "whether to be or not");
  EXPECT_EQ(join(deltas), "whether to be");
  EXPECT_EQ(deltas.back().stop_string, "to be");
}

TEST_F(OutputStreamTest, TheStopStringThatEndsFirstWins) {
  const Request request = request_with_stops({"be or not", "or"});
  const std::vector<Delta> deltas = stream(request, "to be or not");
  EXPECT_EQ(join(deltas), "to be ");
  EXPECT_EQ(deltas.back().stop_string, "or");
}

TEST_F(OutputStreamTest, MinTokensLetsAnEarlyStopStringPass) {
  Request request = request_with_stops({"be"});
  const auto count = tokenizer_.encode("to be", {.add_special_tokens = false}).size();
  request.sampling.min_tokens = static_cast<std::int64_t>(count);
  const std::vector<Delta> deltas = stream(request, "to be or not to be, that");
  EXPECT_EQ(join(deltas), "to be or not to ");
}

TEST_F(OutputStreamTest, TokenThatEndsTheOutputGivesNoText) {
  const Request request = request_with_stops({});
  OutputStream output(&tokenizer_, request);
  const std::vector<TokenId> tokens = tokenizer_.encode("ab cd", {.add_special_tokens = false});
  Delta delta;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    output.emit(tokens[i], delta);
  }
  delta.finish_reason = FinishReason::kStop;
  output.emit(tokens.back(), delta);
  EXPECT_EQ(delta.token_ids, tokens);
  EXPECT_EQ(delta.text, tokenizer_.decode(std::span(tokens).first(tokens.size() - 1), true));
}

TEST_F(OutputStreamTest, HeldTextIsSentAtTheLengthLimit) {
  const Request request = request_with_stops({"cdx"});
  OutputStream output(&tokenizer_, request);
  const std::vector<TokenId> tokens = tokenizer_.encode("ab cd", {.add_special_tokens = false});
  Delta delta;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i + 1 == tokens.size()) {
      delta.finish_reason = FinishReason::kLength;
    }
    output.emit(tokens[i], delta);
  }
  EXPECT_EQ(delta.text, "ab cd");
  EXPECT_EQ(delta.finish_reason, FinishReason::kLength);
}

}  // namespace
}  // namespace godwit
