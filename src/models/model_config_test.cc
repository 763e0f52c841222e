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
    return std::move(create_model(config, "config.json")).value()->kv_cache_spec().head_dim;
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
                {"hidden_act", "gelu"},
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
  rope.set("rope_type", "yarn");
  config.set("rope_parameters", rope);
  EXPECT_NE(error_of(config).find("yarn"), std::string::npos);
  rope.set("rope_type", "llama3");
  rope.set("high_freq_factor", 1.0);
  config.set("rope_parameters", rope);
  EXPECT_NE(error_of(config).find("high_freq_factor"), std::string::npos);
}

TEST(ModelConfigTest, UnknownArchitecturesAreNamedWithTheKnownOnes) {
  Json config = config_of("qwen2");
  config.set("architectures", JsonArray{Json("WhisperForConditionalGeneration")});
  EXPECT_NE(error_of(config).find("WhisperForConditionalGeneration"), std::string::npos);
  EXPECT_NE(error_of(config).find("LlamaForCausalLM"), std::string::npos);
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

}  // namespace
}  // namespace godwit
