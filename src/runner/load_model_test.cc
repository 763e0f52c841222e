// Checkpoints that are whole but odd.

#include "runner/load_model.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include <gtest/gtest.h>

#include "support/fixtures.h"
#include "weights/safetensors.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;

/// A copy of the fixture llama_tied with one more tensor in a second shard.
class TwoShards {
 public:
  TwoShards(const std::string& name, const std::string& shape, const std::string& data)
      : path_(fs::path(testing::TempDir()) / "godwit_two_shards") {
    const fs::path fixture = test::test_data() / "models" / "llama_tied";
    fs::remove_all(path_);
    fs::create_directories(path_);
    fs::copy_file(fixture / "config.json", path_ / "config.json");
    fs::create_symlink(fs::absolute(fixture / "model.safetensors"), path_ / "1.safetensors");
    const std::string end = std::to_string(data.size());
    const char* type = name == "lm_head.weight" ? "BF16" : "F32";
    const std::string header = "{\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape +
                               ",\"data_offsets\":[0," + end + "]}}";
    const std::uint64_t length = header.size();
    std::ofstream shard(path_ / "2.safetensors", std::ios::binary);
    shard.write(reinterpret_cast<const char*>(&length), sizeof(length));
    shard << header << data;
    std::ofstream(path_ / "model.safetensors.index.json")
        << R"({"weight_map":{"model.norm.weight":"1.safetensors",")" << name
        << R"(":"2.safetensors"}})";
  }

  [[nodiscard]] Status load() const {
    ModelFiles files = TRY(open_model(path_));
    const auto device = TRY(create_device("cpu", {.threads = 1, .isa = {}}));
    const auto stream = TRY(device->create_stream());
    return load_model(std::move(files), *device, *stream, 16).status();
  }

 private:
  fs::path path_;
};

struct Embedding {
  std::string shape;
  std::string data;
};

Embedding embedding() {
  const Result<SafetensorsFile> file =
      SafetensorsFile::open(test::test_data() / "models" / "llama_tied" / "model.safetensors");
  CHECK(file.ok());
  const StoredTensor* tensor = file->find("model.embed_tokens.weight");
  CHECK(tensor != nullptr && tensor->dtype == DType::kBF16);
  return {shape_text(tensor->shape),
          std::string(reinterpret_cast<const char*>(tensor->data.data()), tensor->data.size())};
}

TEST(LoadModelTest, ATiedWeightMayBeStoredTwice) {
  Embedding stored = embedding();
  const Status same = TwoShards("lm_head.weight", stored.shape, stored.data).load();
  EXPECT_TRUE(same.ok()) << same.message();
  stored.data.front() = static_cast<char>(stored.data.front() ^ 1);
  const Status different = TwoShards("lm_head.weight", stored.shape, stored.data).load();
  EXPECT_NE(different.message().find("lm_head.weight"), std::string::npos);
  EXPECT_NE(different.message().find("tie_word_embeddings"), std::string::npos);
}

TEST(LoadModelTest, RopeFactorsThatCannotDivideAreRefused) {
  const std::unique_ptr<Model> model =
      std::move(open_model(test::test_data() / "models" / "llama_tied")).value().model;
  const std::int64_t pairs = model->cache_specs()[0].key_dim / 2;
  const std::string shape = "[" + std::to_string(pairs) + "]";
  for (const float factor : {0.0F, -1.0F, 1.0F}) {
    std::vector<float> factors(static_cast<std::size_t>(pairs), 1.0F);
    factors.back() = factor;
    std::string data(factors.size() * sizeof(float), '\0');
    std::memcpy(data.data(), factors.data(), data.size());
    const Status status = TwoShards("rope_freqs.weight", shape, data).load();
    EXPECT_EQ(status.ok(), factor > 0.0F) << status.message();
  }
}

TEST(LoadModelTest, AConfigOfMillionsOfValuesIsRefused) {
  const Embedding stored = embedding();
  const TwoShards shards("lm_head.weight", stored.shape, stored.data);
  std::string text = "[0";
  for (int i = 0; i < 1'000'000; ++i) {
    text += ",0";
  }
  std::ofstream(fs::path(testing::TempDir()) / "godwit_two_shards" / "config.json") << text << ']';
  EXPECT_NE(shards.load().message().find("holds more than 1000000 values"), std::string::npos);
}

}  // namespace
}  // namespace godwit
