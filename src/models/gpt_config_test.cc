// Configs of GPT-2's heirs that contradict themselves or ask for what is missing are refused by the
// name of the field.

#include <gtest/gtest.h>

#include "models/gpt_decoder.h"
#include "models/model.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

Json config_of(const std::string& fixture, const char* file = "config.json") {
  const auto path = test::test_data() / "models" / fixture / file;
  return parse_json(test::read_text(path), "config.json").value();
}

std::string error_of(const Json& config) {
  const Result<std::unique_ptr<Model>> model = create_model(config, "config.json");
  return model.ok() ? "" : model.status().message();
}

TEST(GptConfigTest, EachWrongFieldIsNamed) {
  const struct {
    const char* fixture;
    const char* key;
    Json value;
  } kCases[] = {{"gpt2", "n_positions", nullptr},
                {"gpt2", "n_head", 0},
                {"gpt2", "layer_norm_epsilon", "small"},
                {"gpt2", "activation_function", "tanh"},
                {"gpt2", "scale_attn_weights", false},
                {"gpt2", "scale_attn_by_inverse_layer_idx", true},
                {"gpt2", "quantization_config", JsonObject{{"quant_method", "fp8"}}},
                {"opt", "do_layer_norm_before", false},
                {"opt", "enable_bias", false},
                {"opt", "word_embed_proj_dim", 32},
                {"opt", "_remove_final_layer_norm", true},
                {"opt", "ffn_dim", nullptr},
                {"falcon", "alibi", true},
                {"falcon", "rope_parameters", nullptr},
                {"falcon_new", "num_kv_heads", nullptr},
                {"falcon_new", "parallel_attn", false},
                {"falcon_new", "num_ln_in_parallel_attn", 3},
                {"gpt_neox", "rope_parameters", nullptr},
                {"gpt_neox", "hidden_act", "elu"},
                {"gptj", "rotary_dim", 7},
                {"gptj", "rotary_dim", 18},
                {"gptj", "rotary_dim", nullptr},
                {"gptj", "tie_word_embeddings", true},
                {"bloom", "n_layer", nullptr},
                {"bloom", "apply_residual_connection_post_layernorm", true},
                {"mpt", "no_bias", false},
                {"mpt", "logit_scale", 2.0},
                {"mpt", "attn_config", nullptr},
                {"mpt", "max_seq_len", nullptr},
                {"nemotron", "norm_eps", nullptr},
                {"nemotron", "num_key_value_heads", nullptr}};
  for (const auto& wrong : kCases) {
    Json config = config_of(wrong.fixture);
    EXPECT_EQ(error_of(config), "");
    config.set(wrong.key, wrong.value);
    // Without rope_parameters the older form's fields are asked for.
    const std::string key = std::string(wrong.key) != "rope_parameters" ? wrong.key
                            : std::string(wrong.fixture) == "gpt_neox"  ? "rotary_emb_base"
                                                                        : "rope_theta";
    EXPECT_NE(error_of(config).find(key), std::string::npos)
        << wrong.fixture << " " << wrong.key << ": " << error_of(config);
  }
}

TEST(GptConfigTest, OptionsOfMptsAttentionAreNamed) {
  const struct {
    const char* key;
    Json value;
  } kCases[] = {{"alibi", false},  {"alibi_bias_max", 16},  {"qk_ln", true},
                {"clip_qkv", 6.0}, {"softmax_scale", 0.25}, {"prefix_lm", true}};
  for (const auto& wrong : kCases) {
    Json config = config_of("mpt");
    Json attention = *config.find("attn_config");
    attention.set(wrong.key, wrong.value);
    config.set("attn_config", attention);
    EXPECT_NE(error_of(config).find(wrong.key), std::string::npos) << error_of(config);
  }
}

/// 2^-2, 2^-4, ... for 4 heads; 6 heads take two more from the 8 of the next power of two.
TEST(GptConfigTest, AlibiSlopesOfHeadsThatAreNoPowerOfTwo) {
  EXPECT_EQ(alibi_slopes(4), (std::vector<float>{0.25F, 0.0625F, 0.015625F, 0.00390625F}));
  EXPECT_EQ(alibi_slopes(6),
            (std::vector<float>{0.25F, 0.0625F, 0.015625F, 0.00390625F, 0.5F, 0.125F}));
}

TEST(GptConfigTest, SizesThatDoNotDivideAreRefused) {
  Json config = config_of("gpt2");
  config.set("n_head", 6);
  EXPECT_NE(error_of(config).find("64"), std::string::npos);
  config = config_of("falcon_new");
  config.set("num_kv_heads", 3);
  EXPECT_NE(error_of(config).find("heads of keys"), std::string::npos);
}

TEST(GptConfigTest, OnlyPlainRopeOfAnEvenPartIsComputed) {
  Json config = config_of("gpt_neox", "config.v4.json");
  config.set("rotary_pct", 0.2);
  EXPECT_NE(error_of(config).find("even"), std::string::npos);
  config.set("rotary_pct", 1e30);
  EXPECT_NE(error_of(config), "");
  config.set("rotary_pct", 0.25);
  config.set("rope_scaling", JsonObject{{"type", "linear"}, {"factor", 2.0}});
  EXPECT_NE(error_of(config).find("linear"), std::string::npos);
  config.set("rope_scaling", "linear");
  EXPECT_NE(error_of(config).find("an object"), std::string::npos);
}

}  // namespace
}  // namespace godwit
