#include "cli/tokenize.h"

#include <array>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "support/fixtures.h"
#include "text/tokenizer_files.h"

namespace godwit {
namespace {

Tokenizer trained_tokenizer() {
  Result<Tokenizer> tokenizer = load_tokenizer(test::test_data() / "models" / "tiny-dense");
  CHECK(tokenizer.ok());
  return std::move(tokenizer).value();
}

/// Runs `command` over a text and returns what it writes.
template <class Command>
std::string run(const std::string& input, const Command& command) {
  std::FILE* const in = std::tmpfile();
  std::FILE* const out = std::tmpfile();
  std::fputs(input.c_str(), in);
  std::rewind(in);
  const Status status = command(in, out);
  EXPECT_TRUE(status.ok()) << status.message();
  std::rewind(out);
  std::string text;
  std::array<char, 4096> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), out)) {
    text.append(buffer.data(), count);
  }
  std::fclose(in);
  std::fclose(out);
  return text;
}

TEST(Tokenize, EncodesLinesAndGoesOnAfterABadOne) {
  const Tokenizer tokenizer = trained_tokenizer();
  const std::string lines =
      "{\"text\": \"Hello world\"}\n{\"text\": 3}\nnonsense\n{}\n{\"text\": \"<|im_end|>\"}";
  const std::string output = run(
      lines, [&](std::FILE* in, std::FILE* out) { return run_tokenize(tokenizer, {}, in, out); });
  EXPECT_TRUE(
      output.starts_with("{\"ids\":[761,292,81,1036]}\n"
                         "{\"error\":\"line 2: \\\"text\\\" must be a string"))
      << output;
  EXPECT_NE(output.find("line 4 has no \\\"text\\\""), std::string::npos) << output;
  EXPECT_TRUE(output.ends_with("\n{\"ids\":[2]}\n")) << output;
}

TEST(Tokenize, SplitsSpecialTokensOnDemand) {
  const Tokenizer tokenizer = trained_tokenizer();
  const std::string output =
      run("{\"text\": \"<|im_end|>\"}\n", [&](std::FILE* in, std::FILE* out) {
        return run_tokenize(tokenizer, {.split_special_tokens = true}, in, out);
      });
  EXPECT_NE(output, "{\"ids\":[2]}\n");
}

TEST(Detokenize, DecodesLines) {
  const Tokenizer tokenizer = trained_tokenizer();
  const std::string lines =
      "{\"ids\": [761,292,81,1036,2,99999999999]}\n{\"ids\": [-1]}\n{\"ids\": []}\n";
  const std::string output = run(
      lines, [&](std::FILE* in, std::FILE* out) { return run_detokenize(tokenizer, {}, in, out); });
  EXPECT_EQ(output,
            "{\"text\":\"Hello world<|im_end|>\"}\n"
            "{\"error\":\"line 2: \\\"ids\\\" has -1, which is no token id\"}\n"
            "{\"text\":\"\"}\n");
  const std::string skipped = run(
      "{\"ids\": [761,292,81,1036,2]}\n",
      [&](std::FILE* in, std::FILE* out) { return run_detokenize(tokenizer, {true}, in, out); });
  EXPECT_EQ(skipped, "{\"text\":\"Hello world\"}\n");
}

TEST(LoadTokenizer, ReadsFoldersAndFiles) {
  const auto folder = test::test_data() / "models" / "tiny-dense";
  const Result<Tokenizer> file = load_tokenizer(folder / "tokenizer.json");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->eos_id(), 2);
  EXPECT_NE(load_tokenizer(folder / "nowhere").status().message().find("nowhere"),
            std::string::npos);
  EXPECT_EQ(load_tokenizer(test::test_data()).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace godwit
