// Configs of Gemma 4 in their forms, and those that contradict themselves.

#include <gtest/gtest.h>

#include "models/model.h"
#include "models/text_config.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

Json config_of(const char* name) {
  const auto path = test::test_data() / "models" / "gemma4_moe" / name;
  return parse_json(test::read_text(path), name).value();
}

std::string error_of(const Json& config) {
  const Result<std::unique_ptr<Model>> model = create_model(config, "config.json");
  return model.ok() ? "" : model.status().message();
}

std::vector<LayerCacheSpec> specs_of(const Json& config) {
  return std::move(create_model(config, "config.json")).value()->cache_specs();
}

TEST(Gemma4Config, BothFormsGiveTheSameLayers) {
  const std::vector<LayerCacheSpec> newer = specs_of(config_of("config.json"));
  EXPECT_EQ(newer, specs_of(config_of("config.v4.json")));
  ASSERT_EQ(newer.size(), 3U);
  EXPECT_EQ(newer[0].num_kv_heads, 4);
  EXPECT_EQ(newer[0].key_dim, 16);
  EXPECT_EQ(newer[0].retention, Retention::window(16));
  EXPECT_EQ(newer[2].num_kv_heads, 2);
  EXPECT_EQ(newer[2].key_dim, 32);
  EXPECT_EQ(newer[2].retention, Retention::all());
}

TEST(Gemma4Config, LayersThatShareKeysStoreNone) {
  Json config = config_of("config.json");
  config.set("layer_types", JsonArray{Json("full_attention"), Json("sliding_attention"),
                                      Json("sliding_attention")});
  config.set("per_layer_config", nullptr);
  config.set("num_kv_shared_layers", 1);
  const std::vector<LayerCacheSpec> specs = specs_of(config);
  ASSERT_EQ(specs.size(), 2U);
  EXPECT_EQ(specs[1].layer, 1);
}

TEST(Gemma4Config, EachWrongFieldIsNamed) {
  const JsonObject one_head = {{"head_dim", 32}};
  const struct {
    const char* key;
    Json value;
  } kCases[] = {{"num_kv_shared_layers", 3},
                {"num_kv_shared_layers", 4},
                {"num_kv_shared_layers", -1},
                {"num_kv_shared_layers", 1},  // No earlier layer sees everything.
                {"num_kv_shared_layers", std::int64_t{1} << 40},
                {"per_layer_config", JsonArray{}},
                {"per_layer_config", JsonObject{{"3", one_head}}},
                {"per_layer_config", JsonObject{{"-1", one_head}}},
                {"per_layer_config", JsonObject{{"02", one_head}}},
                {"per_layer_config", JsonObject{{"99999999999999999999", one_head}}},
                {"per_layer_config", JsonObject{{"2", 32}}},
                {"per_layer_config", JsonObject{{"2", JsonObject{{"head_dim", 33}}}}},
                {"per_layer_config", JsonObject{{"2", JsonObject{{"head_dim", 1 << 20}}}}},
                {"per_layer_config", JsonObject{{"0", one_head}}},  // Unlike layer 1.
                {"per_layer_config", JsonObject{{"2", JsonObject{{"num_key_value_heads", 3}}}}},
                {"per_layer_config", JsonObject{{"2", JsonObject{{"intermediate_size", 3}}}}},
                {"global_head_dim", 31},
                {"num_global_key_value_heads", 0},
                {"use_bidirectional_attention", "all"},
                {"use_bidirectional_attention", true},
                {"hidden_size_per_layer_input", std::int64_t{1} << 31},
                {"num_experts", std::int64_t{1} << 40},
                {"num_experts", nullptr},
                {"top_k_experts", 9},
                {"final_logit_softcapping", -1.0},
                {"rope_parameters", JsonObject{}}};
  for (const auto& wrong : kCases) {
    Json config = config_of("config.json");
    if (std::string_view(wrong.key).find("global") != std::string_view::npos) {
      config = config_of("config.v4.json");
    }
    config.set(wrong.key, wrong.value);
    EXPECT_NE(error_of(config).find(wrong.key), std::string::npos)
        << wrong.key << " " << to_json(wrong.value) << ": " << error_of(config);
  }
}

TEST(Gemma4Config, ThePartThatProportionalRopeTurnsIsAPart) {
  Json config = config_of("config.json");
  Json ropes = *config.find("rope_parameters");
  Json rope = *ropes.find("full_attention");
  for (const Json& value : {Json(1.5), Json(0.0), Json("half")}) {
    rope.set("partial_rotary_factor", value);
    ropes.set("full_attention", rope);
    config.set("rope_parameters", ropes);
    EXPECT_NE(error_of(config).find("partial_rotary_factor"), std::string::npos);
  }
}

TEST(TextConfig, TakesWhatOnlyTheWholeSays) {
  Json inner;
  inner = JsonObject{{"vocab_size", 8},
                     {"eos_token_id", nullptr},
                     {"dtype", "float32"},
                     {"architectures", nullptr}};
  const Json whole = JsonObject{{"architectures", JsonArray{Json("Whole")}},
                                {"dtype", "bfloat16"},
                                {"eos_token_id", 5},
                                {"vocab_size", 9},
                                {"quantization_config", JsonObject{}},
                                {"text_config", inner}};
  const Json text = text_config_of(whole, "config.json").value();
  EXPECT_EQ(text.find("vocab_size")->to_int64(), 8);
  EXPECT_EQ(text.find("eos_token_id")->to_int64(), 5);
  EXPECT_EQ(text.find("dtype")->as_string(), "float32");
  EXPECT_EQ(text.find("architectures")->as_array()[0].as_string(), "Whole");
  EXPECT_NE(text.find("quantization_config"), nullptr);
}

TEST(TextConfig, LeavesOthersAloneAndNamesAWrongOne) {
  const Json plain = JsonObject{{"vocab_size", 9}, {"text_config", nullptr}};
  EXPECT_EQ(to_json(text_config_of(plain, "config.json").value()), to_json(plain));
  const Json wrong = JsonObject{{"text_config", 3}};
  EXPECT_NE(text_config_of(wrong, "config.json").status().message().find("text_config is 3"),
            std::string::npos);
}

}  // namespace
}  // namespace godwit
