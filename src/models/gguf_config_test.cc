// Metadata of GGUF files that godwit must not pass over.

#include "models/gguf_config.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "models/model.h"
#include "weights/test_files.h"

namespace godwit {
namespace {

/// What lists of layers hold.
using Flags = std::vector<bool>;

struct Entry {
  std::string key;
  std::variant<double, bool, std::string, Flags> value;
};

void append(test::GgufBuilder& builder, const Entry& entry, const std::string& architecture) {
  builder.string(architecture + "." + entry.key);
  if (const auto* text = std::get_if<std::string>(&entry.value)) {
    builder.number<std::uint32_t>(8).string(*text);
  } else if (const auto* flag = std::get_if<bool>(&entry.value)) {
    builder.number<std::uint32_t>(7).number<std::uint8_t>(*flag ? 1 : 0);
  } else if (const auto* flags = std::get_if<Flags>(&entry.value)) {
    builder.number<std::uint32_t>(9).number<std::uint32_t>(7);
    builder.number<std::uint64_t>(flags->size());
    for (const bool each : *flags) {
      builder.number<std::uint8_t>(each ? 1 : 0);
    }
  } else if (const double value = std::get<double>(entry.value);
             value == static_cast<double>(static_cast<std::int32_t>(value))) {
    builder.number<std::uint32_t>(5).number(static_cast<std::int32_t>(value));
  } else {
    builder.number<std::uint32_t>(12).number(value);
  }
}

/// The config of a file whose heads have 8 channels, with these further entries and with a vector
/// of four f32 zeros for each name of `vectors`.
Result<Json> config_of(const std::string& architecture, const std::vector<Entry>& further,
                       const std::vector<std::string>& vectors = {}, double layers = 4) {
  std::vector<Entry> entries = {{"block_count", layers},
                                {"context_length", 64.0},
                                {"embedding_length", 32.0},
                                {"feed_forward_length", 32.0},
                                {"attention.head_count", 4.0},
                                {"attention.head_count_kv", 4.0},
                                {"attention.layer_norm_epsilon", 0.5},
                                {"attention.layer_norm_rms_epsilon", 0.5}};
  entries.insert(entries.end(), further.begin(), further.end());
  test::GgufBuilder builder(1 + vectors.size(), entries.size() + 1);
  builder.string("general.architecture").number<std::uint32_t>(8).string(architecture);
  for (const Entry& entry : entries) {
    append(builder, entry, architecture);
  }
  std::uint64_t offset = 32 * 4 * 4;
  builder.tensor("token_embd.weight", {32, 4}, 0, 0);
  for (const std::string& name : vectors) {
    builder.tensor(name, {4}, 0, offset);
    offset += 32;
  }
  const std::string bytes = builder.data(offset);
  const Result<GgufFile> file = GgufFile::parse(test::bytes_of(bytes), "file.gguf");
  EXPECT_TRUE(file.ok()) << file.status().message();
  return config_from_gguf(*file);
}

void expect_error_about(const Result<Json>& config, const std::string& key) {
  ASSERT_FALSE(config.ok()) << key;
  EXPECT_NE(config.status().message().find(key), std::string::npos) << config.status().message();
  EXPECT_NE(config.status().message().find("file.gguf"), std::string::npos);
}

TEST(GgufConfigTest, HeadsOfUnequalSizesAreRefusedByName) {
  EXPECT_TRUE(config_of("llama", {}).ok());
  EXPECT_TRUE(
      config_of("llama", {{"rope.dimension_count", 8.0}, {"attention.value_length", 8.0}}).ok());
  for (const char* key : {"rope.dimension_count", "attention.value_length"}) {
    expect_error_about(config_of("llama", {{key, 4.0}}), key);
  }
}

TEST(GgufConfigTest, WhereAPartOfAHeadMayBeRotatedItIsCounted) {
  for (const char* architecture : {"phi3", "glm4", "nemotron"}) {
    const Result<Json> config = config_of(architecture, {{"rope.dimension_count", 6.0}});
    ASSERT_TRUE(config.ok()) << architecture;
    EXPECT_EQ(config->find("rotary_dim")->to_int64(), 6);
    EXPECT_TRUE(create_model(*config, "file.gguf").ok());
    for (const double wrong : {5.0, 10.0, 0.0}) {
      const Result<Json> other = config_of(architecture, {{"rope.dimension_count", wrong}});
      ASSERT_TRUE(other.ok());
      const auto model = create_model(*other, "file.gguf");
      ASSERT_FALSE(model.ok()) << wrong;
      EXPECT_NE(model.status().message().find("rotary_dim"), std::string::npos);
    }
  }
}

TEST(GgufConfigTest, AFactorWithoutATypeScalesLinearly) {
  EXPECT_EQ(config_of("llama", {})->find("rope_scaling"), nullptr);
  for (const char* key : {"rope.scaling.factor", "rope.scale_linear"}) {
    const Result<Json> config = config_of("llama", {{key, 2.5}});
    ASSERT_TRUE(config.ok());
    const Json* scaling = config->find("rope_scaling");
    ASSERT_NE(scaling, nullptr) << key;
    EXPECT_EQ(scaling->find("rope_type")->as_string(), "linear");
    EXPECT_EQ(scaling->find("factor")->as_double(), 2.5);
  }
}

TEST(GgufConfigTest, YarnsAttentionFactorInItsThreeForms) {
  const auto factor_with = [](std::vector<Entry> further) {
    further.push_back({"rope.scaling.type", std::string("yarn")});
    further.push_back({"rope.scaling.factor", 4.0});
    return config_of("qwen3", further)->find("rope_scaling")->find("attention_factor")->as_double();
  };
  constexpr double kUsual = 1.1386294361119891;  // 0.1 ln 4 + 1
  EXPECT_DOUBLE_EQ(factor_with({}), kUsual);
  EXPECT_DOUBLE_EQ(factor_with({{"rope.scaling.attn_factor", 0.75}}), 0.75 * kUsual);
  EXPECT_DOUBLE_EQ(factor_with({{"rope.scaling.yarn_attn_factor", 1.25}}), 1.25);
  for (const char* key : {"rope.scaling.yarn_log_multiplier", "rope.scaling.yarn_ext_factor"}) {
    expect_error_about(config_of("qwen3", {{"rope.scaling.type", std::string("yarn")},
                                           {"rope.scaling.factor", 4.0},
                                           {key, 0.5}}),
                       key);
  }
}

TEST(GgufConfigTest, LongRopeIsReadFromItsTensors) {
  const Entry original = {"rope.scaling.original_context_length", 16.0};
  const std::string long_name = "rope_factors_long.weight";
  const std::string short_name = "rope_factors_short.weight";
  const Result<Json> config = config_of("phi3", {original}, {long_name, short_name});
  ASSERT_TRUE(config.ok()) << config.status().message();
  const Json* scaling = config->find("rope_scaling");
  EXPECT_EQ(scaling->find("rope_type")->as_string(), "longrope");
  EXPECT_EQ(scaling->find("short_factor")->as_array().size(), 4U);
  // The factors are zeros, by which no frequency can be divided.
  const auto model = create_model(*config, "file.gguf");
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.status().message().find("short_factor"), std::string::npos);
  expect_error_about(config_of("phi3", {original}, {long_name}), short_name);
  expect_error_about(config_of("phi3", {}, {long_name, short_name}), original.key);
}

TEST(GgufConfigTest, PatternsOfWindows) {
  const Entry window = {"attention.sliding_window", 16.0};
  const std::string key = "attention.sliding_window_pattern";
  const auto slides = [](const Result<Json>& config) {
    EXPECT_TRUE(config.ok()) << config.status().message();
    std::string letters;
    for (const Json& type : config->find("layer_types")->as_array()) {
      letters += type.as_string() == "sliding_attention" ? 'L' : 'G';
    }
    return letters;
  };
  EXPECT_EQ(slides(config_of("olmo2", {window})), "LLLG");
  EXPECT_EQ(slides(config_of("olmo2", {window, {key, 2.0}})), "LGLG");
  EXPECT_EQ(slides(config_of("olmo2", {window, {key, Flags{false, true, true, false}}})), "GLLG");
  EXPECT_EQ(config_of("olmo2", {window})->find("architectures")->as_array()[0].as_string(),
            "Olmo3ForCausalLM");
  EXPECT_EQ(config_of("olmo2", {})->find("layer_types"), nullptr);
  for (const auto& wrong : std::vector<Entry>{
           {key, 0.0}, {key, Flags{true, false}}, {key, std::string("LLLG")}, {key, 0.5}}) {
    expect_error_about(config_of("olmo2", {window, wrong}), key);
  }
}

TEST(GgufConfigTest, WhatAnArchitectureCannotSayIsRefusedByName) {
  expect_error_about(
      config_of("cohere2",
                {{"logit_scale", 0.5}, {"rope.freq_base", 10000.0}, {"rope.freq_base_swa", 500.0}}),
      "cohere2.rope.freq_base_swa");
  expect_error_about(config_of("cohere2", {}), "cohere2.logit_scale");
  expect_error_about(config_of("glm4", {{"rope.dimension_sections", Flags{true}}}),
                     "glm4.rope.dimension_sections");
  expect_error_about(config_of("granite", {{"rope.scaling.finetuned", false}}),
                     "granite.rope.scaling.finetuned");
  expect_error_about(config_of("granite", {}), "granite.logit_scale");
  expect_error_about(config_of("gemma3", {}), "gemma3.attention.key_length");
}

TEST(GgufConfigTest, TheLargestGemmasScaleTheirScoresByAnotherRule) {
  const auto divisor = [](const std::string& architecture, double layers) {
    const Result<Json> config =
        config_of(architecture, {{"attention.key_length", 16.0}}, {}, layers);
    return config->find("query_pre_attn_scalar")->to_int64();
  };
  EXPECT_EQ(divisor("gemma2", 26), 16);
  EXPECT_EQ(divisor("gemma2", 46), 8);  // 32 channels over 4 heads
  EXPECT_EQ(divisor("gemma3", 46), 16);
  EXPECT_EQ(divisor("gemma3", 62), 8);
}

TEST(GgufConfigTest, Gpt2sHeirsRepeatWhatTheirModelsAskFor) {
  const Entry parallel = {"use_parallel_residual", false};
  const Entry alibi = {"attention.max_alibi_bias", 8.0};
  for (const auto& [architecture, entries] :
       std::vector<std::pair<const char*, std::vector<Entry>>>{{"gpt2", {}},
                                                               {"gptneox", {parallel}},
                                                               {"bloom", {}},
                                                               {"falcon", {}},
                                                               {"mpt", {alibi}},
                                                               {"nemotron", {}}}) {
    const Result<Json> config = config_of(architecture, entries);
    ASSERT_TRUE(config.ok()) << config.status().message();
    const auto model = create_model(*config, "file.gguf");
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ((*model)->geometry().max_positions, 64) << architecture;
    EXPECT_EQ((*model)->cache_specs()[0].num_kv_heads, 4) << architecture;
  }
  expect_error_about(config_of("gptneox", {}), parallel.key);
}

TEST(GgufConfigTest, OtherFormsOfMptAreRefusedByName) {
  const Entry alibi = {"attention.max_alibi_bias", 8.0};
  expect_error_about(config_of("mpt", {}), alibi.key);
  expect_error_about(config_of("mpt", {{"attention.max_alibi_bias", 4.0}}), alibi.key);
  expect_error_about(config_of("mpt", {alibi, {"attention.clamp_kqv", 6.0}}), "clamp_kqv");
}

}  // namespace
}  // namespace godwit
