// Configs of latent attention: the size of what the cache holds, and fields that contradict.

#include <gtest/gtest.h>

#include "models/model.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

Json latent_config_of(const char* fixture) {
  const auto path = test::test_data() / "models" / fixture / "config.json";
  return parse_json(test::read_text(path), "config.json").value();
}

std::string latent_error_of(const Json& config) {
  const Result<std::unique_ptr<Model>> model = create_model(config, "config.json");
  return model.ok() ? "" : model.status().message();
}

TEST(MlaConfigTest, TheCacheHoldsOneLatentWhateverHeadDimSays) {
  Json config = latent_config_of("deepseek_v3");
  for (const Json& head_dim : {Json(nullptr), Json(0), Json(8), Json(24)}) {
    config.set("head_dim", head_dim);
    const auto model = std::move(create_model(config, "config.json")).value();
    ASSERT_EQ(model->cache_specs().size(), 3U);
    for (const LayerCacheSpec& spec : model->cache_specs()) {
      EXPECT_EQ(spec.num_kv_heads, 1);
      EXPECT_EQ(spec.key_dim, 32 + 8);
      EXPECT_EQ(spec.value_dim, 0);
      EXPECT_EQ(spec.index_dim, 0);
    }
  }
}

TEST(MlaConfigTest, LayersWithAnIndexerHoldItsKeys) {
  Json config = latent_config_of("deepseek_v32");
  config.set("architectures", JsonArray{Json("GlmMoeDsaForCausalLM")});
  config.set("index_topk_pattern", "FSF");
  const auto model = std::move(create_model(config, "config.json")).value();
  std::vector<std::int64_t> widths;
  for (const LayerCacheSpec& spec : model->cache_specs()) {
    widths.push_back(spec.index_dim);
  }
  EXPECT_EQ(widths, (std::vector<std::int64_t>{16, 0, 16}));
}

TEST(MlaConfigTest, LongcatHasTwoCachesALayer) {
  const auto model =
      std::move(create_model(latent_config_of("longcat_flash"), "config.json")).value();
  EXPECT_EQ(model->cache_specs().size(), 4U);
  EXPECT_EQ(model->geometry().num_layers, 4);
}

TEST(MlaConfigTest, WithoutLatentsTheSizeOfAHeadIsThatOfOtherModels) {
  Json config = latent_config_of("deepseek_v2");
  config.set("use_mla", false);
  EXPECT_NE(latent_error_of(config).find("use_mla is false"), std::string::npos);
  config.set("kv_lora_rank", nullptr);
  config.set("head_dim", 0);
  const auto model = std::move(create_model(config, "config.json")).value();
  EXPECT_EQ(model->cache_specs().front().key_dim, 64 / 4);
  EXPECT_EQ(model->cache_specs().front().value_dim, 64 / 4);
  config.set("use_mla", true);
  EXPECT_NE(latent_error_of(config).find("kv_lora_rank"), std::string::npos);
}

TEST(MlaConfigTest, EachWrongFieldIsNamed) {
  const struct {
    const char* fixture;
    const char* key;
    Json value;
  } kCases[] = {{"deepseek_v3", "kv_lora_rank", 0},
                {"deepseek_v3", "kv_lora_rank", nullptr},
                {"deepseek_v3", "kv_lora_rank", std::int64_t{1} << 40},
                {"deepseek_v3", "q_lora_rank", 0},
                {"deepseek_v3", "q_lora_rank", -3},
                {"deepseek_v3", "qk_rope_head_dim", 7},
                {"deepseek_v3", "qk_rope_head_dim", 0},
                {"deepseek_v3", "qk_nope_head_dim", 0},
                {"deepseek_v3", "qk_head_dim", 25},
                {"deepseek_v3", "v_head_dim", nullptr},
                {"deepseek_v3", "v_head_dim", -1},
                {"deepseek_v3", "rope_interleave", 1},
                {"deepseek_v3", "topk_method", "greedy"},
                {"deepseek_v3", "scoring_func", "softmax"},
                {"deepseek_v3", "n_group", 3},
                {"deepseek_v3", "n_shared_experts", -1},
                {"deepseek_v3", "n_routed_experts", std::int64_t{1} << 40},
                {"deepseek_v2", "topk_method", "noaux_tc"},
                {"deepseek_v2", "scoring_func", "sigmoid"},
                {"deepseek_v32", "q_lora_rank", nullptr},
                {"deepseek_v32", "index_n_heads", 0},
                {"deepseek_v32", "index_head_dim", 4},
                {"deepseek_v32", "index_topk", nullptr},
                {"longcat_flash", "zero_expert_type", "drop"},
                {"longcat_flash", "zero_expert_num", -1},
                {"longcat_flash", "num_layers", 0},
                {"longcat_flash", "ffn_hidden_size", nullptr}};
  for (const auto& wrong : kCases) {
    Json config = latent_config_of(wrong.fixture);
    config.set(wrong.key, wrong.value);
    EXPECT_NE(latent_error_of(config).find(wrong.key), std::string::npos)
        << wrong.fixture << " " << wrong.key << ": " << latent_error_of(config);
  }
}

TEST(MlaConfigTest, PatternsOfIndexersAreOneEntryALayerAndStartFull) {
  Json config = latent_config_of("deepseek_v32");
  config.set("architectures", JsonArray{Json("GlmMoeDsaForCausalLM")});
  for (const char* wrong : {"", "FF", "SFF", "FXF", "FFFF"}) {
    config.set("index_topk_pattern", wrong);
    EXPECT_NE(latent_error_of(config).find("index_topk_pattern"), std::string::npos) << wrong;
  }
  config.set("index_topk_pattern", nullptr);
  EXPECT_EQ(latent_error_of(config), "");
  config.set("index_topk_freq", 4);
  EXPECT_NE(latent_error_of(config).find("index_topk_freq is 4"), std::string::npos);
}

}  // namespace
}  // namespace godwit
