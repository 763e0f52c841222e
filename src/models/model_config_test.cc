// Configs that contradict themselves are refused by the name of the field.

#include <gtest/gtest.h>

#include "models/decoder.h"
#include "models/model.h"
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

TEST(ModelConfigTest, HeadDimComesFromOneRule) {
  Json config = config_of("qwen2");
  const auto head_dim = [&] {
    return std::move(create_model(config, "config.json")).value()->cache_specs()[0].key_dim;
  };
  EXPECT_EQ(head_dim(), 16);  // absent: hidden_size 64 / 4 heads
  config.set("head_dim", 0);
  EXPECT_EQ(head_dim(), 16);
  config.set("head_dim", nullptr);
  EXPECT_EQ(head_dim(), 16);
  config.set("head_dim", 24);
  EXPECT_EQ(head_dim(), 24);
  config.set("head_dim", -8);
  EXPECT_NE(error_of(config).find("head_dim is -8"), std::string::npos);
  config.set("head_dim", 0);
  config.set("num_attention_heads", 6);
  EXPECT_NE(error_of(config).find("hidden_size 64"), std::string::npos);
}

TEST(ModelConfigTest, EachWrongFieldIsNamed) {
  const struct {
    const char* key;
    Json value;
  } kCases[] = {{"vocab_size", nullptr},
                {"hidden_size", 0},
                {"hidden_size", "64"},
                {"num_hidden_layers", 1e9},
                {"num_hidden_layers", 100000},
                {"num_key_value_heads", 3},
                {"rms_norm_eps", 0.0},
                {"rms_norm_eps", "1e-6"},
                {"rms_norm_eps", 1e-60},
                {"rms_norm_eps", 1e300},
                {"head_dim", 65538},
                {"num_hidden_layers", std::int64_t{1} << 62},
                {"partial_rotary_factor", 0.5},
                {"use_sliding_window", false},
                {"max_position_embeddings", std::int64_t{1} << 31},
                {"hidden_act", "tanh"},
                {"max_position_embeddings", nullptr},
                {"layer_types", JsonArray{}},
                {"tie_word_embeddings", 1},
                {"sliding_window", nullptr},
                {"rope_parameters", "yarn"},
                {"quantization_config", JsonObject{{"quant_method", "fp8"}}}};
  for (const auto& wrong : kCases) {
    Json config = config_of("qwen2");
    config.set(wrong.key, wrong.value);
    EXPECT_NE(error_of(config).find(wrong.key), std::string::npos)
        << wrong.key << ": " << error_of(config);
  }
}

TEST(ModelConfigTest, RopeKindsThatAreMissingAreNamed) {
  Json config = config_of("llama_rope3");
  Json rope = *config.find("rope_parameters");
  rope.set("rope_type", "dynamic");
  config.set("rope_parameters", rope);
  EXPECT_NE(error_of(config).find("dynamic"), std::string::npos);
  rope.set("rope_type", "llama3");
  rope.set("high_freq_factor", 1.0);
  config.set("rope_parameters", rope);
  EXPECT_NE(error_of(config).find("high_freq_factor"), std::string::npos);
}

TEST(ModelConfigTest, UnknownArchitecturesAreNamedWithTheirNearest) {
  Json config = config_of("qwen2");
  config.set("architectures", JsonArray{Json("Qwen9ForCausalLM")});
  EXPECT_EQ(
      error_of(config),
      "config.json: godwit has no model Qwen9ForCausalLM; the nearest that it has are "
      "Qwen2ForCausalLM, Qwen3ForCausalLM and Qwen3_5ForCausalLM; docs/add-a-model.md says how "
      "to add one");
  config.set("architectures", JsonArray{Json(std::string(100'000, 'x'))});
  EXPECT_LT(error_of(config).size(), 400U);
  config.set("architectures", JsonArray{});
  EXPECT_NE(error_of(config).find("architectures"), std::string::npos);
  EXPECT_FALSE(create_model(Json(), "config.json").ok());
}

TEST(ModelConfigTest, WindowsFollowHuggingFacesRules) {
  Json config = config_of("qwen2");
  const auto windows = [&] {
    const ConfigReader reader(config, "config.json");
    return std::move(read_windows(reader, 4)).value();
  };
  EXPECT_EQ(windows(), (std::vector<std::int64_t>{0, 0, 16, 16}));
  config.set("layer_types", nullptr);
  config.set("max_window_layers", 3);
  EXPECT_EQ(windows(), (std::vector<std::int64_t>{0, 0, 0, 16}));
  config.set("max_window_layers", nullptr);
  EXPECT_NE(error_of(config).find("max_window_layers is null"), std::string::npos);
  config.set("use_sliding_window", nullptr);
  EXPECT_EQ(windows(), std::vector<std::int64_t>(4, 0)) << "a window alone switches nothing on";
}

TEST(ModelConfigTest, LlamaIgnoresTheWindowsOfOtherFamilies) {
  Json config = config_of("llama_tied");
  config.set("sliding_window", 0);
  config.set("layer_types", "none");
  EXPECT_EQ(error_of(config), "");
}

TEST(ModelConfigTest, EachFamilyNamesItsOwnWrongFields) {
  const JsonArray short_list = {Json(1), Json(2)};
  const struct {
    const char* fixture;
    const char* key;
    Json value;
  } kCases[] = {{"mistral", "sliding_window", 0},
                {"granite", "logits_scaling", 0.0},
                {"granite", "residual_multiplier", nullptr},
                {"granite", "embedding_multiplier", nullptr},
                {"granite", "attention_multiplier", "0.2"},
                {"gemma2", "query_pre_attn_scalar", nullptr},
                {"gemma2", "attn_logit_softcapping", -1.0},
                {"gemma2", "final_logit_softcapping", 0},
                {"gemma2", "use_bidirectional_attention", true},
                {"gemma3_text", "sliding_window", nullptr},
                {"gemma3_text", "layer_types", JsonArray{Json("full_attention")}},
                {"gemma3_text", "rope_parameters", JsonObject{}},
                {"phi3_longrope", "max_position_embeddings", nullptr},
                {"glm4", "partial_rotary_factor", 1.5},
                {"smollm3", "no_rope_layers", short_list},
                {"cohere2", "logit_scale", nullptr},
                {"cohere2", "layer_norm_eps", nullptr},
                {"cohere2", "use_qk_norm", true},
                {"exaone4", "sliding_window", -4},
                {"seed_oss", "attention_out_bias", 1},
                {"olmo3", "sliding_window", nullptr},
                {"olmo2", "rope_parameters", JsonArray{}}};
  for (const auto& wrong : kCases) {
    Json config = config_of(wrong.fixture);
    config.set(wrong.key, wrong.value);
    if (std::string_view(wrong.key) == "partial_rotary_factor") {
      Json rope = *config.find("rope_parameters");
      rope.set(wrong.key, wrong.value);
      config.set("rope_parameters", rope);
    }
    EXPECT_NE(error_of(config).find(wrong.key), std::string::npos)
        << wrong.fixture << " " << wrong.key << ": " << error_of(config);
  }
}

TEST(ModelConfigTest, FactorsOfLongRopeAreAsManyAsPairs) {
  Json config = config_of("phi3_longrope");
  for (const char* key : {"short_factor", "long_factor"}) {
    for (const Json& value : {Json(nullptr), Json(2.0), Json(JsonArray{Json(1.0)}),
                              Json(JsonArray(8, Json(0.0))), Json(JsonArray(8, Json("1")))}) {
      Json wrong = config;
      Json rope = *config.find("rope_parameters");
      rope.set(key, value);
      wrong.set("rope_parameters", rope);
      EXPECT_NE(error_of(wrong).find(key), std::string::npos) << error_of(wrong);
    }
  }
}

TEST(ModelConfigTest, PatternsOfWindowsInAllTheirForms) {
  Json config = config_of("cohere2");
  const auto windows = [&](std::int64_t num_layers) {
    const ConfigReader reader(config, "config.json");
    return std::move(read_alternating_windows(reader, num_layers, 2)).value();
  };
  const std::vector<std::int64_t> every_fourth = {16, 16, 16, 0};
  EXPECT_EQ(windows(4), every_fourth);
  config.set("layer_types", nullptr);
  EXPECT_EQ(windows(4), (std::vector<std::int64_t>{16, 0, 16, 0})) << "the family's own";
  config.set("sliding_window_pattern", 4);
  EXPECT_EQ(windows(4), every_fourth);
  config.set("sliding_window_pattern", "LLG");
  EXPECT_EQ(windows(4), (std::vector<std::int64_t>{16, 16, 0, 16}));
  config.set("sliding_window_pattern", "LLX");
  EXPECT_NE(error_of(config).find("sliding_window_pattern"), std::string::npos);
}

}  // namespace
}  // namespace godwit
