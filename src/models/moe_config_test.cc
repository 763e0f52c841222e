// Configs of mixtures of experts that contradict themselves are refused by the name of the field.

#include <gtest/gtest.h>

#include "models/model.h"
#include "models/moe_fields.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

Json config_of(const char* fixture) {
  const auto path = test::test_data() / "models" / fixture / "config.json";
  return parse_json(test::read_text(path), "config.json").value();
}

std::string error_of(const Json& config) {
  const Result<std::unique_ptr<Model>> model = create_model(config, "config.json");
  return model.ok() ? "" : model.status().message();
}

/// qwen2_moe's sizes under another class.
Json config_for(const char* architecture) {
  Json config = config_of("qwen2_moe");
  config.set("architectures", JsonArray{Json(architecture)});
  config.set("decoder_sparse_step", nullptr);
  config.set("sliding_window", nullptr);
  return config;
}

struct WrongField {
  const char* key;
  Json value;
};

void expect_named(const Json& right, const std::vector<WrongField>& cases) {
  ASSERT_EQ(error_of(right), "");
  for (const WrongField& wrong : cases) {
    Json config = right;
    config.set(wrong.key, wrong.value);
    EXPECT_NE(error_of(config).find(wrong.key), std::string::npos)
        << wrong.key << " " << to_json(wrong.value) << ": " << error_of(config);
  }
}

TEST(MoeConfigTest, SizesThatNoModelHas) {
  const std::int64_t absurd = std::int64_t{1} << 40;
  expect_named(config_of("qwen2_moe"), {{"num_experts", absurd},
                                        {"num_experts", -8},
                                        {"num_experts", 0},
                                        {"num_experts", 65537},
                                        {"num_experts", nullptr},
                                        {"num_experts", "8"},
                                        {"num_local_experts", 16},
                                        {"num_experts_per_tok", 9},
                                        {"num_experts_per_tok", 0},
                                        {"num_experts_per_tok", absurd},
                                        {"moe_intermediate_size", -32},
                                        {"moe_intermediate_size", absurd},
                                        {"moe_intermediate_size", nullptr},
                                        {"shared_expert_intermediate_size", -1},
                                        {"norm_topk_prob", 1},
                                        {"decoder_sparse_step", -1},
                                        {"mlp_only_layers", JsonArray{Json(6)}},
                                        {"mlp_only_layers", JsonArray{Json(-1)}},
                                        {"mlp_only_layers", 3}});
}

TEST(MoeConfigTest, GroupsAndFrequencies) {
  Json config = config_for("Glm4MoeForCausalLM");
  config.set("n_group", 2);
  config.set("topk_group", 1);
  expect_named(config, {{"n_group", 3},
                        {"n_group", 9},
                        {"topk_group", 3},
                        {"topk_group", 0},
                        {"routed_scaling_factor", -1.0},
                        {"routed_scaling_factor", "2"},
                        {"n_shared_experts", -1},
                        {"first_k_dense_replace", -1},
                        {"moe_layer_freq", 0},
                        {"moe_layer_freq", JsonArray{Json(1)}},
                        {"moe_layer_freq", JsonArray(6, Json(2))},
                        {"mlp_layer_types", JsonArray(6, Json("thin"))},
                        {"mlp_layer_types", JsonArray(5, Json("dense"))}});
  config.set("n_group", 8);  // One group has one expert, but a token needs two.
  EXPECT_NE(error_of(config).find("topk_group"), std::string::npos) << error_of(config);
}

TEST(MoeConfigTest, EachFamilyNamesItsOwnWrongFields) {
  expect_named(config_of("gpt_oss"), {{"swiglu_limit", -1.0}, {"sliding_window", nullptr}});
  expect_named(config_of("granitemoe"), {{"shared_intermediate_size", -1}});
  expect_named(config_of("llama4_text"),
               {{"attention_chunk_size", nullptr},
                {"attention_chunk_size", 0},
                {"attn_scale", nullptr},
                {"floor_scale", 0},
                {"attn_temperature_tuning", "yes"},
                {"moe_layers", JsonArray{Json(4)}},
                {"no_rope_layers", JsonArray{Json(1)}},
                {"intermediate_size_mlp", -3},
                {"layer_types", JsonArray(4, Json("sliding_attention"))}});
  Json ernie = config_for("Ernie4_5_MoeForCausalLM");
  ernie.set("moe_k", 2);
  expect_named(ernie, {{"moe_k", 9},
                       {"moe_norm_min", -1.0},
                       {"moe_layer_interval", -1},
                       {"moe_num_shared_experts", -1},
                       {"use_bias", true}});
  Json hunyuan = config_for("HunYuanMoEV1ForCausalLM");
  hunyuan.set("moe_topk", JsonArray{Json(2), Json(2)});
  expect_named(hunyuan, {{"moe_topk", JsonArray{Json(2), Json(1)}},
                         {"moe_topk", JsonArray{}},
                         {"moe_topk", 9},
                         {"num_shared_expert", JsonArray{Json(-1)}}});
  Json phi = config_for("PhimoeForCausalLM");
  phi.set("router_jitter_noise", 0.01);
  expect_named(phi, {{"router_jitter_noise", nullptr}, {"router_jitter_noise", -0.1}});
  Json olmoe = config_for("OlmoeForCausalLM");
  expect_named(olmoe, {{"clip_qkv", -2.0}, {"intermediate_size", nullptr}});
}

std::vector<bool> sparse_layers(const Json& config, std::initializer_list<const char*> keys) {
  DecoderConfig decoder;
  decoder.layers.resize(6);
  EXPECT_TRUE(read_sparse_layers(ConfigReader(config, "config.json"), keys, decoder).ok());
  std::vector<bool> sparse;
  for (const DecoderLayerConfig& layer : decoder.layers) {
    sparse.push_back(layer.sparse);
  }
  return sparse;
}

TEST(MoeConfigTest, WhichLayersAreSparse) {
  using Layers = std::vector<bool>;
  Json config;
  config.set("unread", 1);
  EXPECT_EQ(sparse_layers(config, {}), Layers(6, true));
  config.set("decoder_sparse_step", 2);
  EXPECT_EQ(sparse_layers(config, {"mlp_only_layers"}), Layers(6, true)) << "no key of the family";
  EXPECT_EQ(sparse_layers(config, {"decoder_sparse_step"}),
            (Layers{false, true, false, true, false, true}));
  config.set("mlp_only_layers", JsonArray{Json(3)});
  EXPECT_EQ(sparse_layers(config, {"decoder_sparse_step", "mlp_only_layers"}),
            (Layers{false, true, false, false, false, true}));
  config.set("first_k_dense_replace", 3);
  EXPECT_EQ(sparse_layers(config, {"first_k_dense_replace"}),
            (Layers{false, false, false, true, true, true}));
  config.set("moe_layer_freq", 2);
  EXPECT_EQ(sparse_layers(config, {"first_k_dense_replace", "moe_layer_freq"}),
            (Layers{false, false, false, false, true, false}));
  config.set("moe_layer_interval", 2);
  config.set("moe_layer_start_index", 2);
  config.set("moe_layer_end_index", 4);
  EXPECT_EQ(sparse_layers(config, {"moe_layer_interval"}),
            (Layers{false, false, false, true, false, false}));
  config.set("moe_layers", JsonArray{Json(0), Json(5)});
  EXPECT_EQ(sparse_layers(config, {"moe_layers"}),
            (Layers{true, false, false, false, false, true}));
}

}  // namespace
}  // namespace godwit
