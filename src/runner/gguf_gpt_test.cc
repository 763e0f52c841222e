// GGUF files of GPT-2's heirs (tools/make_gguf_gpt.py) against Hugging Face's numbers for the same
// weights, and against llama.cpp.

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "runner/testing/file_delta.h"
#include "runner/testing/hugging_face.h"
#include "runner/testing/llama_cpp.h"
#include "runner/testing/model_harness.h"
#include "support/fixtures.h"
#include "weights/test_files.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;

struct GptCase {
  const char* file;
  const char* model;
};

void PrintTo(const GptCase& gpt, std::ostream* out) {
  *out << gpt.file;
}

class GgufGptTest : public testing::TestWithParam<GptCase> {
 protected:
  [[nodiscard]] static fs::path data_folder() { return test::test_data() / "gguf_gpt"; }
  [[nodiscard]] static fs::path fixture() {
    return test::test_data() / "models" / GetParam().model;
  }
  [[nodiscard]] std::unique_ptr<test::ModelHarness> load() const {
    const std::string name = GetParam().file;
    const std::string file =
        test::apply_delta(test::read_text(data_folder() / (name + ".delta.gz")),
                          test::read_text(fixture() / "model.safetensors"));
    return test::ModelHarness::load(folder_.write(name + ".gguf", file),
                                    {.isa = {}, .threads = 2, .max_model_len = 256});
  }

 private:
  test::TemporaryFolder folder_;
};

class GgufGptHuggingFaceTest : public GgufGptTest {};

TEST_P(GgufGptHuggingFaceTest, EqualsHuggingFace) {
  const auto model = load();
  test::expect_hugging_face(*model, fixture());
}

INSTANTIATE_TEST_SUITE_P(Files, GgufGptHuggingFaceTest,
                         testing::Values(GptCase{"gpt2", "gpt2"}, GptCase{"gptneox", "gpt_neox"},
                                         GptCase{"bloom", "bloom"}, GptCase{"mpt", "mpt"},
                                         GptCase{"falcon", "falcon"},
                                         GptCase{"falcon-new", "falcon_new"},
                                         GptCase{"nemotron", "nemotron"}));

/// llama.cpp rounds inside of its gelu, which puts it 0.004 from Hugging Face's code.
class GgufGptLlamaCppTest : public GgufGptTest {};

TEST_P(GgufGptLlamaCppTest, EqualsLlamaCpp) {
  const auto model = load();
  test::expect_llama_cpp(*model, data_folder() / "llama_cpp.json", GetParam().file, 0.006);
}

INSTANTIATE_TEST_SUITE_P(Files, GgufGptLlamaCppTest,
                         testing::Values(GptCase{"gpt2", "gpt2"}, GptCase{"gptneox", "gpt_neox"},
                                         GptCase{"bloom", "bloom"}, GptCase{"mpt", "mpt"},
                                         GptCase{"falcon-plain", "falcon"},
                                         GptCase{"falcon-new", "falcon_new"},
                                         GptCase{"nemotron", "nemotron"}));

}  // namespace
}  // namespace godwit
