#include "weights/checkpoint.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "support/fixtures.h"
#include "weights/test_files.h"

namespace godwit {
namespace {

using test::TemporaryFolder;

constexpr std::string_view kIndex = "model.safetensors.index.json";

/// A file of f32 tensors of one element each.
std::string shard(const std::vector<std::string>& names) {
  std::string header;
  std::size_t offset = 0;
  for (const std::string& name : names) {
    header += (header.empty() ? "{\"" : ",\"") + name +
              R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" + std::to_string(offset) + "," +
              std::to_string(offset + 4) + "]}";
    offset += 4;
  }
  return test::safetensors_file(header + "}", offset);
}

/// What opening the folder says, which must be an error.
std::string failure(const std::filesystem::path& path) {
  const auto checkpoint = Checkpoint::open(path);
  EXPECT_FALSE(checkpoint.ok());
  return checkpoint.ok() ? std::string() : checkpoint.status().message();
}

TEST(Checkpoint, OpensASingleFile) {
  const auto checkpoint = Checkpoint::open(test::test_data() / "models/qwen2");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->gguf(), nullptr);
  EXPECT_EQ(checkpoint->files().size(), 1U);
  EXPECT_TRUE(std::is_sorted(
      checkpoint->tensors().begin(), checkpoint->tensors().end(),
      [](const StoredTensor& left, const StoredTensor& right) { return left.name < right.name; }));
  for (const StoredTensor& tensor : checkpoint->tensors()) {
    EXPECT_EQ(checkpoint->find(tensor.name), &tensor);
    EXPECT_EQ(checkpoint->file_of(tensor), checkpoint->files()[0]);
  }
  EXPECT_EQ(checkpoint->find("zzz"), nullptr);
  EXPECT_EQ(checkpoint->find(""), nullptr);
}

TEST(Checkpoint, OpensShards) {
  const auto checkpoint = Checkpoint::open(test::test_data() / "models/llama_rope3");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->files().size(), 5U);
  const auto index =
      parse_json(test::read_text(test::test_data() / "models/llama_rope3" / kIndex), kIndex);
  ASSERT_TRUE(index.ok());
  const JsonObject& map = index->find("weight_map")->as_object();
  EXPECT_EQ(checkpoint->tensors().size(), map.size());
  for (const auto& [name, file] : map) {
    const StoredTensor* tensor = checkpoint->find(name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_TRUE(checkpoint->file_of(*tensor).ends_with(file.as_string()));
  }
  EXPECT_EQ(static_cast<std::int64_t>(checkpoint->total_bytes()),
            index->find("metadata")->find("total_size")->to_int64());
}

TEST(Checkpoint, OpensGguf) {
  const auto checkpoint = Checkpoint::open(test::test_data() / "weights/types.gguf");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  ASSERT_NE(checkpoint->gguf(), nullptr);
  EXPECT_EQ(*checkpoint->gguf()->get_string("general.architecture"), "llama");
  ASSERT_NE(checkpoint->find("token_embd.weight"), nullptr);
  EXPECT_EQ(checkpoint->tensors().size(), 10U);
}

TEST(Checkpoint, OpensAllSharedFixtures) {
  const auto root = test::shared_fixtures();
  if (!root) {
    GTEST_SKIP() << "no ../shared/fixtures";
  }
  int opened = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*root / "models")) {
    const auto checkpoint = Checkpoint::open(entry.path());
    EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    ++opened;
  }
  EXPECT_GT(opened, 80);
}

TEST(Checkpoint, SaysWhatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_NE(failure(folder.path() / "absent").find("there is no model at"), std::string::npos);
  EXPECT_NE(failure(folder.path()).find("holds neither model.safetensors nor"), std::string::npos);
  EXPECT_NE(failure(folder.write("notes.txt", "hello")).find("notes.txt does not begin with GGUF"),
            std::string::npos);
  EXPECT_NE(failure(folder.write("empty.gguf", "")).find("empty.gguf"), std::string::npos);
}

TEST(Checkpoint, ComparesTheIndexWithTheShards) {
  const TemporaryFolder folder;
  const auto index = [&](std::string_view map) {
    folder.write(kIndex, R"({"metadata":{},"weight_map":)" + std::string(map) + "}");
  };
  folder.write("one.safetensors", shard({"a", "b"}));
  folder.write("two.safetensors", shard({"c"}));

  index(R"({"a":"one.safetensors","b":"one.safetensors","c":"two.safetensors"})");
  EXPECT_TRUE(Checkpoint::open(folder.path()).ok());

  index(R"({"a":"one.safetensors","c":"three.safetensors"})");
  EXPECT_NE(failure(folder.path()).find("names the shard 'three.safetensors', which is not in"),
            std::string::npos);
  index(R"({"a":"one.safetensors","c":"two.safetensors","d":"two.safetensors"})");
  EXPECT_NE(
      failure(folder.path()).find("tensor 'd' is in 'two.safetensors', but no shard holds it"),
      std::string::npos);
  index(R"({"a":"two.safetensors","b":"one.safetensors","c":"two.safetensors"})");
  EXPECT_NE(failure(folder.path()).find("'a' is in 'two.safetensors', but it is in 'one.safetens"),
            std::string::npos);
  index(R"({"a":"one.safetensors","a":"two.safetensors"})");
  EXPECT_NE(failure(folder.path()).find("names \"a\" twice"), std::string::npos);
  for (const char* map : {R"({"a":"../one.safetensors"})", R"({"a":"/etc/passwd"})", R"({"a":""})",
                          R"({"a":5})", R"({"a":".."})"}) {
    index(map);
    EXPECT_NE(failure(folder.path()).find(kIndex), std::string::npos) << map;
  }
  for (const char* map : {"{}", "[]", "5"}) {
    index(map);
    EXPECT_NE(failure(folder.path()).find("has no weight_map"), std::string::npos);
  }
  folder.write(kIndex, "{");
  EXPECT_NE(failure(folder.path()).find("not valid JSON"), std::string::npos);
}

TEST(Checkpoint, RefusesATensorInTwoShards) {
  const TemporaryFolder folder;
  folder.write("one.safetensors", shard({"a", "b"}));
  folder.write("two.safetensors", shard({"b", "c"}));
  folder.write(kIndex, R"({"weight_map":{"a":"one.safetensors","c":"two.safetensors"}})");
  const std::string message = failure(folder.path());
  EXPECT_NE(message.find("tensor 'b' is both in"), std::string::npos) << message;
  EXPECT_NE(message.find("one.safetensors"), std::string::npos);
  EXPECT_NE(message.find("two.safetensors"), std::string::npos);
}

TEST(Checkpoint, NamesABrokenShard) {
  const TemporaryFolder folder;
  folder.write("one.safetensors", shard({"a"}).substr(0, 40));
  folder.write(kIndex, R"({"weight_map":{"a":"one.safetensors"}})");
  EXPECT_NE(failure(folder.path()).find("one.safetensors gives its header"), std::string::npos);
}

TEST(Checkpoint, KeepsTheMappingWhileACopyLives) {
  std::optional<Checkpoint> copy;
  {
    const auto checkpoint = Checkpoint::open(test::test_data() / "models/qwen3");
    ASSERT_TRUE(checkpoint.ok());
    copy = *checkpoint;
  }
  std::size_t sum = 0;
  for (const StoredTensor& tensor : copy->tensors()) {
    sum += std::to_integer<std::size_t>(tensor.data.front());
  }
  EXPECT_GT(sum, 0U);
}

}  // namespace
}  // namespace godwit
