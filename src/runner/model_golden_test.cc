// Every fixture against the numbers that Hugging Face's code gave.

#include <filesystem>

#include <gtest/gtest.h>

#include "runner/testing/hugging_face.h"
#include "runner/testing/model_harness.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;

/// A copy of a fixture whose config.json is its config.v4.json.
class ConfigVariant {
 public:
  ConfigVariant(const fs::path& fixture, bool older) : path_(fixture) {
    if (!older) {
      return;
    }
    path_ = fs::path(testing::TempDir()) / ("godwit_v4_" + fixture.filename().string());
    fs::remove_all(path_);
    fs::create_directories(path_);
    for (const fs::directory_entry& entry : fs::directory_iterator(fixture)) {
      const std::string name = entry.path().filename().string();
      if (name.find(".safetensors") != std::string::npos) {
        fs::create_symlink(fs::absolute(entry.path()), path_ / name);
      }
    }
    fs::copy_file(fixture / "config.v4.json", path_ / "config.json");
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct GoldenCase {
  const char* fixture;
  bool older_config;
};

void PrintTo(const GoldenCase& golden, std::ostream* out) {
  *out << golden.fixture << (golden.older_config ? " with config.v4.json" : "");
}

class ModelGoldenTest : public testing::TestWithParam<GoldenCase> {};

TEST_P(ModelGoldenTest, LogitsLogprobsAndGreedyTokensEqualHuggingFace) {
  const auto fixture = test::model_fixture(GetParam().fixture);
  if (!fixture) {
    GTEST_SKIP() << "only ../shared/fixtures has it";
  }
  const ConfigVariant variant(*fixture, GetParam().older_config);
  // Contexts of this length keep phi3_longrope to the factors that its golden numbers used.
  const auto model =
      test::ModelHarness::load(variant.path(), {.isa = {}, .threads = 2, .max_model_len = 256});
  test::expect_hugging_face(*model, *fixture);
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, ModelGoldenTest,
    testing::Values(GoldenCase{"llama_tied", false}, GoldenCase{"llama_tied", true},
                    GoldenCase{"llama_rope3", false}, GoldenCase{"llama_rope3", true},
                    GoldenCase{"tiny-dense", false}, GoldenCase{"tiny-dense", true},
                    GoldenCase{"qwen2", false}, GoldenCase{"qwen2", true},
                    GoldenCase{"qwen2_headdim0", false}, GoldenCase{"qwen2_headdim0", true},
                    GoldenCase{"qwen3", false}, GoldenCase{"qwen3", true}));

/// Llama's relatives with norms, ropes, windows and factors of their own.
INSTANTIATE_TEST_SUITE_P(
    DecoderFixtures, ModelGoldenTest,
    testing::Values(
        GoldenCase{"mistral", false}, GoldenCase{"mistral", true}, GoldenCase{"olmo2", false},
        GoldenCase{"olmo2", true}, GoldenCase{"granite", false}, GoldenCase{"granite", true},
        GoldenCase{"gemma2", false}, GoldenCase{"gemma2", true}, GoldenCase{"gemma3_text", false},
        GoldenCase{"gemma3_text", true}, GoldenCase{"phi3", false}, GoldenCase{"phi3", true},
        GoldenCase{"phi3_longrope", false}, GoldenCase{"phi3_longrope", true},
        GoldenCase{"glm4", false}, GoldenCase{"glm4", true}, GoldenCase{"smollm3", false},
        GoldenCase{"smollm3", true}, GoldenCase{"cohere2", false}, GoldenCase{"cohere2", true},
        GoldenCase{"exaone4", false}, GoldenCase{"exaone4", true}, GoldenCase{"seed_oss", false},
        GoldenCase{"seed_oss", true}, GoldenCase{"olmo3", false}, GoldenCase{"olmo3", true}));

/// Mixtures of experts.
INSTANTIATE_TEST_SUITE_P(
    MoeFixtures, ModelGoldenTest,
    testing::Values(GoldenCase{"mixtral", false}, GoldenCase{"mixtral", true},
                    GoldenCase{"qwen2_moe", false}, GoldenCase{"qwen2_moe", true},
                    GoldenCase{"qwen3_moe", false}, GoldenCase{"qwen3_moe", true},
                    GoldenCase{"olmoe", false}, GoldenCase{"olmoe", true},
                    GoldenCase{"granitemoe", false}, GoldenCase{"granitemoe", true},
                    GoldenCase{"granitemoeshared", false}, GoldenCase{"granitemoeshared", true},
                    GoldenCase{"phimoe", false}, GoldenCase{"phimoe", true},
                    GoldenCase{"dots1", false}, GoldenCase{"dots1", true},
                    GoldenCase{"hunyuan_v1_moe", false}, GoldenCase{"hunyuan_v1_moe", true},
                    GoldenCase{"minimax_m2", false}, GoldenCase{"minimax_m2", true},
                    GoldenCase{"ernie4_5_moe", false}, GoldenCase{"ernie4_5_moe", true},
                    GoldenCase{"glm4_moe", false}, GoldenCase{"glm4_moe", true},
                    GoldenCase{"gpt_oss", false}, GoldenCase{"gpt_oss", true},
                    GoldenCase{"llama4_text", false}, GoldenCase{"llama4_text", true},
                    GoldenCase{"mimo_v2_flash", false}, GoldenCase{"mimo_v2_flash", true}));

/// Latent attention.
INSTANTIATE_TEST_SUITE_P(
    LatentFixtures, ModelGoldenTest,
    testing::Values(GoldenCase{"deepseek_v2", false}, GoldenCase{"deepseek_v2", true},
                    GoldenCase{"deepseek_v2_headdim0", false},
                    GoldenCase{"deepseek_v2_headdim0", true}, GoldenCase{"deepseek_nomla", false},
                    GoldenCase{"deepseek_v3", false}, GoldenCase{"deepseek_v3", true},
                    GoldenCase{"deepseek_v32", false}, GoldenCase{"deepseek_v32", true},
                    GoldenCase{"glm_moe_dsa", false}, GoldenCase{"glm_moe_dsa", true},
                    GoldenCase{"longcat_flash", false}, GoldenCase{"longcat_flash", true},
                    GoldenCase{"tiny-mla-moe", false}, GoldenCase{"tiny-mla-moe", true}));

/// Quantised safetensors: fp8, int8, GPTQ, AWQ, MXFP4.
INSTANTIATE_TEST_SUITE_P(
    QuantisedFixtures, ModelGoldenTest,
    testing::Values(GoldenCase{"q_llama_fp8", false}, GoldenCase{"q_llama_fp8", true},
                    GoldenCase{"q_llama_int8", false}, GoldenCase{"q_llama_int8", true},
                    GoldenCase{"q_llama_gptq", false}, GoldenCase{"q_llama_gptq", true},
                    GoldenCase{"q_llama_gptq_act", false}, GoldenCase{"q_llama_gptq_act", true},
                    GoldenCase{"q_llama_awq", false}, GoldenCase{"q_llama_awq", true},
                    GoldenCase{"q_qwen3_moe_fp8", false}, GoldenCase{"q_qwen3_moe_fp8", true},
                    GoldenCase{"q_qwen3_moe_int8", false}, GoldenCase{"q_qwen3_moe_int8", true},
                    GoldenCase{"q_qwen3_moe_gptq", false}, GoldenCase{"q_qwen3_moe_gptq", true},
                    GoldenCase{"q_qwen3_moe_awq", false}, GoldenCase{"q_qwen3_moe_awq", true},
                    GoldenCase{"q_deepseek_v3_fp8", false}, GoldenCase{"q_deepseek_v3_fp8", true},
                    GoldenCase{"q_gpt_oss_mxfp4", false}, GoldenCase{"q_gpt_oss_mxfp4", true}));

/// Recurrent layers, alone or beside attention.
INSTANTIATE_TEST_SUITE_P(
    HybridFixtures, ModelGoldenTest,
    testing::Values(
        GoldenCase{"lfm2", false}, GoldenCase{"lfm2", true}, GoldenCase{"lfm2_moe", false},
        GoldenCase{"lfm2_moe", true}, GoldenCase{"qwen3_next", false},
        GoldenCase{"qwen3_next", true}, GoldenCase{"qwen3_5", false}, GoldenCase{"qwen3_5", true},
        GoldenCase{"qwen3_5_wrapped", false}, GoldenCase{"qwen3_5_wrapped", true},
        GoldenCase{"qwen3_5_moe", false}, GoldenCase{"qwen3_5_moe", true},
        GoldenCase{"qwen3_5_moe_wrapped", false}, GoldenCase{"qwen3_5_moe_wrapped", true},
        GoldenCase{"mamba2", false}, GoldenCase{"mamba2", true}, GoldenCase{"bamba", false},
        GoldenCase{"bamba", true}, GoldenCase{"granitemoehybrid", false},
        GoldenCase{"granitemoehybrid", true}, GoldenCase{"tiny-hybrid-moe", false},
        GoldenCase{"tiny-hybrid-moe", true}, GoldenCase{"falcon_h1", false},
        GoldenCase{"falcon_h1", true}, GoldenCase{"nemotron_h", false},
        GoldenCase{"nemotron_h", true}, GoldenCase{"minimax", false}, GoldenCase{"minimax", true},
        GoldenCase{"zamba2", false}, GoldenCase{"zamba2", true}, GoldenCase{"mamba", false},
        GoldenCase{"mamba", true}, GoldenCase{"jamba", false}, GoldenCase{"jamba", true},
        GoldenCase{"kimi_linear", false}, GoldenCase{"kimi_linear", true}));

/// Gemma 3n and 4, also as the text model within a larger one.
INSTANTIATE_TEST_SUITE_P(
    GemmaFixtures, ModelGoldenTest,
    testing::Values(GoldenCase{"gemma3n_text", false}, GoldenCase{"gemma3n_text", true},
                    GoldenCase{"gemma4_text", false}, GoldenCase{"gemma4_text", true},
                    GoldenCase{"gemma4_moe", false}, GoldenCase{"gemma4_moe", true},
                    GoldenCase{"gemma4_text_wrapped", false},
                    GoldenCase{"gemma4_text_wrapped", true},
                    GoldenCase{"gemma4_moe_wrapped", false},
                    GoldenCase{"gemma4_moe_wrapped", true}));

/// GPT-2 and its heirs.
INSTANTIATE_TEST_SUITE_P(
    GptFixtures, ModelGoldenTest,
    testing::Values(GoldenCase{"gpt2", false}, GoldenCase{"gpt2", true}, GoldenCase{"opt", false},
                    GoldenCase{"opt", true}, GoldenCase{"falcon", false},
                    GoldenCase{"falcon", true}, GoldenCase{"falcon_new", false},
                    GoldenCase{"falcon_new", true}, GoldenCase{"gpt_neox", false},
                    GoldenCase{"gpt_neox", true}, GoldenCase{"gptj", false},
                    GoldenCase{"gptj", true}, GoldenCase{"nemotron", false},
                    GoldenCase{"nemotron", true}, GoldenCase{"bloom", false},
                    GoldenCase{"bloom", true}, GoldenCase{"mpt", false}, GoldenCase{"mpt", true}));

}  // namespace
}  // namespace godwit
