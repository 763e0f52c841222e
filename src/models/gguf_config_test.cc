// Metadata of GGUF files that godwit must not pass over.

#include "models/gguf_config.h"

#include <gtest/gtest.h>

#include "weights/test_files.h"

namespace godwit {
namespace {

struct Entry {
  std::string key;
  double value;
};

/// The config of a llama file with heads of 8 channels and these further entries.
Result<Json> config_with(const std::vector<Entry>& further) {
  std::vector<Entry> entries = {{"block_count", 1},
                                {"context_length", 64},
                                {"embedding_length", 32},
                                {"feed_forward_length", 32},
                                {"attention.head_count", 4},
                                {"attention.head_count_kv", 4},
                                {"attention.layer_norm_rms_epsilon", 0.5}};
  entries.insert(entries.end(), further.begin(), further.end());
  test::GgufBuilder builder(1, entries.size() + 1);
  builder.string("general.architecture").number<std::uint32_t>(8).string("llama");
  for (const auto& [key, value] : entries) {
    builder.string("llama." + key);
    if (value == static_cast<double>(static_cast<std::int32_t>(value))) {
      builder.number<std::uint32_t>(5).number(static_cast<std::int32_t>(value));
    } else {
      builder.number<std::uint32_t>(12).number(value);
    }
  }
  builder.tensor("token_embd.weight", {32, 4}, 0, 0);
  const std::string bytes = builder.data(32 * 4 * 4);
  const Result<GgufFile> file = GgufFile::parse(test::bytes_of(bytes), "file.gguf");
  EXPECT_TRUE(file.ok()) << file.status().message();
  return config_from_gguf(*file);
}

TEST(GgufConfigTest, HeadsOfUnequalSizesAreRefusedByName) {
  EXPECT_TRUE(config_with({}).ok());
  EXPECT_TRUE(config_with({{"rope.dimension_count", 8}, {"attention.value_length", 8}}).ok());
  for (const char* key : {"rope.dimension_count", "attention.value_length"}) {
    const Result<Json> config = config_with({{key, 4}});
    ASSERT_FALSE(config.ok()) << key;
    EXPECT_NE(config.status().message().find(key), std::string::npos);
  }
}

TEST(GgufConfigTest, AFactorWithoutATypeScalesLinearly) {
  EXPECT_EQ(config_with({})->find("rope_scaling"), nullptr);
  for (const char* key : {"rope.scaling.factor", "rope.scale_linear"}) {
    const Result<Json> config = config_with({{key, 2.5}});
    ASSERT_TRUE(config.ok());
    const Json* scaling = config->find("rope_scaling");
    ASSERT_NE(scaling, nullptr) << key;
    EXPECT_EQ(scaling->find("rope_type")->as_string(), "linear");
    EXPECT_EQ(scaling->find("factor")->as_double(), 2.5);
  }
}

}  // namespace
}  // namespace godwit
