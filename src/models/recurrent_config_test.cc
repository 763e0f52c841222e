// Configs of recurrent layers that contradict themselves are refused by the name of the field.

#include <cmath>
#include <optional>

#include <gtest/gtest.h>

#include "models/model.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

/// The config of a fixture in this folder, or nothing where only ../shared/fixtures has it.
std::optional<Json> config_of(const char* fixture) {
  const auto path = test::model_fixture(fixture);
  if (!path) {
    return std::nullopt;
  }
  JsonParseOptions options;
  options.allow_non_finite = true;
  return parse_json(test::read_text(*path / "config.json"), "config.json", options).value();
}

std::string error_of(const Json& config) {
  const Result<std::unique_ptr<Model>> model = create_model(config, "config.json");
  return model.ok() ? "" : model.status().message();
}

struct WrongField {
  const char* key;
  Json value;
};

void expect_named(const char* fixture, const std::vector<WrongField>& cases) {
  const std::optional<Json> right = config_of(fixture);
  if (!right) {
    GTEST_SKIP() << "only ../shared/fixtures has it";
  }
  ASSERT_EQ(error_of(*right), "");
  for (const WrongField& wrong : cases) {
    Json config = *right;
    config.set(wrong.key, wrong.value);
    EXPECT_NE(error_of(config).find(wrong.key), std::string::npos)
        << wrong.key << " " << to_json(wrong.value) << ": " << error_of(config);
  }
}

constexpr std::int64_t kAbsurd = std::int64_t{1} << 40;

JsonArray names(std::initializer_list<const char*> list) {
  return JsonArray(list.begin(), list.end());
}

TEST(RecurrentConfigTest, GatedDeltaNets) {
  expect_named("qwen3_next", {{"linear_conv_kernel_dim", 0},
                              {"linear_conv_kernel_dim", 1},
                              {"linear_conv_kernel_dim", -4},
                              {"linear_conv_kernel_dim", kAbsurd},
                              {"linear_num_value_heads", 3},
                              {"linear_num_value_heads", 0},
                              {"linear_num_value_heads", kAbsurd},
                              {"linear_num_key_heads", nullptr},
                              {"linear_key_head_dim", 0},
                              {"linear_value_head_dim", "24"},
                              {"full_attention_interval", 4},
                              {"full_attention_interval", 0},
                              {"layer_types", names({"linear_attention"})},
                              {"layer_types", names({"linear_attention", "full_attention",
                                                     "linear_attention", "sliding_attention"})},
                              {"layer_types", nullptr},
                              {"layer_types", "linear_attention"}});
}

TEST(RecurrentConfigTest, Mamba2Layers) {
  expect_named("bamba", {{"mamba_d_conv", 0},
                         {"mamba_d_conv", 1},
                         {"mamba_n_heads", 7},
                         {"mamba_n_heads", kAbsurd},
                         {"mamba_n_groups", 3},
                         {"mamba_n_groups", 0},
                         {"mamba_d_state", -1},
                         {"mamba_d_head", 0},
                         {"mamba_expand", 0},
                         {"time_step_limit", JsonArray{Json(1.0), Json(0.5)}},
                         {"time_step_limit", JsonArray{Json(0.0)}},
                         {"time_step_limit", JsonArray{Json(std::nan("")), Json(1.0)}},
                         {"time_step_limit", "none"},
                         {"attn_layer_indices", JsonArray{Json(4)}},
                         {"attn_layer_indices", JsonArray{Json(-1)}},
                         {"attn_layer_indices", 1},
                         {"attn_rotary_emb", 7},
                         {"layer_types", names({"mamba", "mamba", "mamba"})}});
}

/// Two fields that say which layers have attention must say the same.
TEST(RecurrentConfigTest, ListsThatContradictTypes) {
  Json config = *config_of("bamba");
  config.set("layer_types", names({"mamba", "attention", "mamba", "mamba"}));
  EXPECT_NE(error_of(config).find("attn_layer_indices"), std::string::npos) << error_of(config);
  config.set("layer_types", names({"mamba", "attention", "mamba", "attention"}));
  EXPECT_EQ(error_of(config), "");
}

TEST(RecurrentConfigTest, MambaLayers) {
  expect_named("jamba", {{"mamba_d_conv", 0},
                         {"mamba_dt_rank", 0},
                         {"mamba_dt_rank", "all"},
                         {"mamba_d_state", 0},
                         {"mamba_expand", kAbsurd},
                         {"attn_layer_period", 0},
                         {"attn_layer_offset", 3},
                         {"expert_layer_period", 0},
                         {"expert_layer_offset", 2}});
  expect_named("mamba", {{"conv_kernel", 0},
                         {"intermediate_size", 100},
                         {"hidden_act", "gelu"},
                         {"time_step_rank", -4}});
}

TEST(RecurrentConfigTest, OtherFamilies) {
  expect_named("falcon_h1", {{"mamba_d_ssm", 100},
                             {"ssm_multipliers", JsonArray{Json(1.0)}},
                             {"mlp_multipliers", JsonArray{Json(1.0), Json(-1.0)}},
                             {"mamba_d_conv", 0}});
}

TEST(RecurrentConfigTest, KindsOfBlocks) {
  expect_named("nemotron_h", {{"layers_block_type", names({"moe", "conv"})},
                              {"hybrid_override_pattern", "ME*-"},
                              {"num_hidden_layers", 9},
                              {"conv_kernel", 0},
                              {"n_groups", 3},
                              {"moe_latent_size", 16}});
}

TEST(RecurrentConfigTest, SharedBlocks) {
  expect_named("zamba2", {{"hybrid_layer_ids", JsonArray{Json(1)}},
                          {"layers_block_type", names({"hybrid"})},
                          {"num_mem_blocks", 0},
                          {"adapter_rank", 0},
                          {"attention_head_dim", 16},
                          {"mamba_d_conv", 0}});
}

TEST(RecurrentConfigTest, KimiLinear) {
  expect_named("kimi_linear", {{"linear_conv_kernel_dim", 1},
                               {"linear_num_heads", 0},
                               {"num_expert_group", 3},
                               {"mla_use_nope", false}});
}

}  // namespace
}  // namespace godwit
