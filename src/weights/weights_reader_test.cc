#include "weights/weights_reader.h"

#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include "support/fixtures.h"
#include "weights/test_files.h"

namespace godwit {
namespace {

using test::TemporaryFolder;

/// Host memory behind the device interface, with or without kernels that could read mapped files.
class TestDevice final : public Device {
 public:
  explicit TestDevice(bool reads_host) : reads_host_(reads_host) {}

  [[nodiscard]] std::string hardware() const override { return "none"; }
  [[nodiscard]] std::string description() const override { return "test"; }
  [[nodiscard]] const KernelTable& kernels() const override { check_failed("no kernels here"); }
  [[nodiscard]] DeviceMemory memory() const override { return {}; }
  [[nodiscard]] bool reads_host_memory() const override { return reads_host_; }
  Result<Buffer> allocate(std::size_t bytes, MemoryPurpose purpose) override {
    EXPECT_EQ(purpose, MemoryPurpose::kWeights);
    if (bytes > limit) {
      return resource_exhausted("the test device is full");
    }
    ++live;
    return Buffer(*this, std::aligned_alloc(64, bytes), bytes);
  }
  Result<std::unique_ptr<Stream>> create_stream() override {
    return internal_error("the test makes its own stream");
  }

  int live = 0;
  std::size_t limit = std::size_t{1} << 30U;

 protected:
  void release(void* data, std::size_t /*size*/) noexcept override {
    std::free(data);
    --live;
  }

 private:
  bool reads_host_;
};

class TestStream final : public Stream {
 public:
  using Stream::Stream;
  Status copy_in(void* destination, std::span<const std::byte> source) override {
    ++copies;
    return copy(destination, source.data(), source.size());
  }
  Status copy_out(std::span<std::byte> destination, const void* source) override {
    return copy(destination.data(), source, destination.size());
  }
  Status copy(void* destination, const void* source, std::size_t bytes) override {
    if (bytes > 0) {
      std::memcpy(destination, source, bytes);
    }
    return {};
  }
  Status synchronize() override { return {}; }
  [[nodiscard]] void* native() override { return nullptr; }

  int copies = 0;
};

/// Device, stream and reader over one checkpoint.
struct Reading {
  explicit Reading(const std::filesystem::path& path, bool reads_host = true)
      : device(reads_host), checkpoint(Checkpoint::open(path)) {
    EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    reader.emplace(*checkpoint, device, stream);
  }
  TestDevice device;
  TestStream stream{device};
  Result<Checkpoint> checkpoint;
  std::optional<WeightsReader> reader;
};

bool same_bytes(const Tensor& tensor, const StoredTensor& stored) {
  return tensor.bytes() == stored.data.size() &&
         std::memcmp(tensor.data, stored.data.data(), stored.data.size()) == 0;
}

std::filesystem::path qwen2() {
  return test::test_data() / "models/qwen2";
}
std::filesystem::path types_gguf() {
  return test::test_data() / "weights/types.gguf";
}

constexpr const char* kNorm = "model.norm.weight";
constexpr const char* kQuery = "model.layers.0.self_attn.q_proj.weight";

TEST(WeightsReader, UsesTheMappedFileInPlace) {
  Reading reading(qwen2());
  const auto tensor = reading.reader->read(kQuery, {64, 64});
  ASSERT_TRUE(tensor.ok()) << tensor.status().message();
  EXPECT_EQ(tensor->dtype, DType::kBF16);
  EXPECT_EQ(to_string(*tensor), "bf16[64, 64]");
  EXPECT_EQ(tensor->data, reading.checkpoint->find(kQuery)->data.data());
  EXPECT_EQ(reading.device.live, 0);
  EXPECT_EQ(reading.reader->take_store().allocated_bytes(), 0U);
}

TEST(WeightsReader, CopiesForADeviceWithItsOwnMemory) {
  Reading reading(qwen2(), false);
  std::vector<std::pair<Tensor, const StoredTensor*>> read;
  for (const char* name : {kNorm, "model.layers.0.input_layernorm.weight"}) {
    const auto tensor = reading.reader->read(name, {64}, WeightKind::kVector);
    ASSERT_TRUE(tensor.ok()) << tensor.status().message();
    read.emplace_back(*tensor, reading.checkpoint->find(name));
  }
  const auto query = reading.reader->read(kQuery, {64, 64});
  ASSERT_TRUE(query.ok());
  read.emplace_back(*query, reading.checkpoint->find(kQuery));
  const WeightStore store = reading.reader->take_store();
  for (const auto& [tensor, stored] : read) {
    EXPECT_NE(tensor.data, stored->data.data());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data) % 64, 0U);
    EXPECT_TRUE(same_bytes(tensor, *stored));
  }
  EXPECT_EQ(reading.stream.copies, 3);
  EXPECT_EQ(reading.device.live, 1) << "small tensors share a buffer";
  EXPECT_GT(store.allocated_bytes(), 0U);
}

TEST(WeightsReader, CopiesWhatIsMisaligned) {
  const TemporaryFolder folder;
  // The header's length decides where the data begin: at an odd byte here.
  std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  header.append(header.size() % 2 == 0 ? 1 : 0, ' ');
  std::string file = test::safetensors_file(header, 8);
  file[file.size() - 1] = 7;
  folder.write("model.safetensors", file);
  Reading reading(folder.path());
  const auto tensor = reading.reader->read("a", {2});
  ASSERT_TRUE(tensor.ok()) << tensor.status().message();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->data) % 4, 0U);
  EXPECT_TRUE(same_bytes(*tensor, *reading.checkpoint->find("a")));
  EXPECT_EQ(reading.stream.copies, 1);
}

TEST(WeightsReader, TensorsOutliveReaderAndCheckpoint) {
  WeightStore store;
  Tensor tensor;
  {
    Reading reading(qwen2());
    tensor = *reading.reader->read(kNorm, {64}, WeightKind::kVector);
    store = reading.reader->take_store();
  }
  std::uint16_t first = 0;
  std::memcpy(&first, tensor.data, sizeof(first));
  EXPECT_NE(first, 0);
}

TEST(WeightsReader, AsksGgufByHuggingFaceNames) {
  Reading reading(types_gguf());
  const auto embedding = reading.reader->read("model.embed_tokens.weight", {6, 64});
  ASSERT_TRUE(embedding.ok()) << embedding.status().message();
  EXPECT_EQ(embedding->dtype, DType::kQ8_0);
  EXPECT_EQ(reading.reader->read(kQuery, {64, 64})->dtype, DType::kQ4_0);
  EXPECT_TRUE(reading.reader->contains("lm_head.weight"));
  EXPECT_FALSE(reading.reader->contains("model.layers.1.mlp.up_proj.weight"));
  const auto ids = reading.reader->read("table.ids", {2, 3}, WeightKind::kIndex);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(ids->dtype, DType::kI32);
}

TEST(WeightsReader, RefusesTypesNamingFileTensorAndWhatIsSupported) {
  Reading reading(types_gguf());
  const Status status = reading.reader->read("lm_head.weight", {2, 256}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  for (const char* part : {"types.gguf", "'output.weight'", "IQ4_XS", "q8_0, q4_0, q4_1"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
  EXPECT_FALSE(reading.reader->read(kQuery, {64, 64}, WeightKind::kVector).ok());
  EXPECT_FALSE(reading.reader->read("table.ids", {2, 3}).ok());
}

TEST(WeightsReader, RefusesOtherShapes) {
  Reading reading(qwen2());
  const Status status = reading.reader->read(kQuery, {64, 32}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  for (const char* part : {"model.safetensors", kQuery, "[64, 64]", "[64, 32]"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
  EXPECT_FALSE(reading.reader->read(kQuery, {4096}).ok());
  EXPECT_FALSE(reading.reader->read(kQuery, {64, 64, 1}).ok());
  EXPECT_FALSE(reading.reader->read_optional(kQuery, {64}).ok());
}

TEST(WeightsReader, SaysWhatIsMissing) {
  Reading reading(qwen2());
  const Status status = reading.reader->read("model.absent", {1}).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("holds no tensor 'model.absent'"), std::string::npos);
  EXPECT_NE(status.message().find("models/qwen2"), std::string::npos);
  const auto optional = reading.reader->read_optional("model.absent", {1});
  ASSERT_TRUE(optional.ok());
  EXPECT_FALSE(optional->has_value());
  const auto present = reading.reader->read_optional(kQuery, {64, 64});
  ASSERT_TRUE(present.ok());
  EXPECT_TRUE(present->has_value());
}

TEST(WeightsReader, SaysWhatIsLeftOver) {
  Reading reading(types_gguf());
  const Status all = reading.reader->finish();
  EXPECT_NE(all.message().find("and 5 more"), std::string::npos) << all.message();
  EXPECT_NE(all.message().find("types.gguf"), std::string::npos);
  const auto norm = reading.reader->read(kNorm, {64}, WeightKind::kVector);
  ASSERT_TRUE(norm.ok());
  const std::string_view most[] = {"blk.", ".ids", "token_embd."};
  const Status rest = reading.reader->finish(most);
  EXPECT_NE(rest.message().find("does not use: 'output.weight'"), std::string::npos)
      << rest.message();
  const std::string_view every[] = {"blk.", ".ids", "token_embd.", "output.weight"};
  EXPECT_TRUE(reading.reader->finish(every).ok());
}

TEST(WeightsReader, SkipsAPartThatIsNotUsed) {
  Reading reading(types_gguf());
  ASSERT_TRUE(reading.reader->read(kNorm, {64}, WeightKind::kVector).ok());
  reading.reader->skip_part("token_embd.", "the embedding");
  reading.reader->skip_part("absent.", "nothing");
  const std::string_view most[] = {"blk.", ".ids"};
  const Status rest = reading.reader->finish(most);
  EXPECT_NE(rest.message().find("does not use: 'output.weight'"), std::string::npos)
      << rest.message();
  reading.reader->skip_part("output.w", "the head");
  EXPECT_TRUE(reading.reader->finish(most).ok());
}

/// Tensors of one f32 each, under these names.
std::string file_of(const std::vector<std::string>& names) {
  std::string header = "{";
  for (std::size_t i = 0; i < names.size(); ++i) {
    header += (i > 0 ? ", \"" : "\"") + names[i] + R"(": {"dtype": "F32", "shape": [1], )" +
              R"("data_offsets": [)" + std::to_string(i * 4) + ", " + std::to_string(i * 4 + 4) +
              "]}";
  }
  return test::safetensors_file(header + "}", names.size() * 4);
}

TEST(WeightsReader, ReadsATextModelWithinALargerOne) {
  const std::vector<std::vector<std::string>> kForms = {
      {"model.language_model.norm.weight", "lm_head.weight", "model.visual.a", "mtp.norm.weight"},
      {"language_model.model.norm.weight", "language_model.lm_head.weight", "vision_tower.a.b"}};
  for (const std::vector<std::string>& names : kForms) {
    const TemporaryFolder folder;
    folder.write("model.safetensors", file_of(names));
    Reading reading(folder.path());
    EXPECT_TRUE(reading.reader->read(kNorm, {1}, WeightKind::kVector).ok());
    const Status rest = reading.reader->finish();
    EXPECT_NE(rest.message().find("does not use: '" + names[1] + "'"), std::string::npos)
        << rest.message();
    EXPECT_TRUE(reading.reader->read("lm_head.weight", {1}, WeightKind::kVector).ok());
    EXPECT_TRUE(reading.reader->finish().ok());
  }
}

TEST(WeightsReader, WithoutATextModelOtherPartsAreLeftOver) {
  const TemporaryFolder folder;
  folder.write("model.safetensors", file_of({"model.norm.weight", "model.visual.a"}));
  Reading reading(folder.path());
  ASSERT_TRUE(reading.reader->read(kNorm, {1}, WeightKind::kVector).ok());
  EXPECT_NE(reading.reader->finish().message().find("model.visual.a"), std::string::npos);
}

TEST(WeightsReader, ReportsAFullDevice) {
  Reading reading(qwen2(), false);
  reading.device.limit = 100;
  EXPECT_EQ(reading.reader->read(kQuery, {64, 64}).status().code(), StatusCode::kResourceExhausted);
}

TEST(WeightStore, AllocatesSmallAndLargeTensors) {
  TestDevice device(true);
  {
    WeightStore store;
    const auto small = store.allocate(device, DType::kF32, {3});
    const auto second = store.allocate(device, DType::kQ8_0, {2, 32});
    const auto large = store.allocate(device, DType::kF32, {1024, 1024});
    ASSERT_TRUE(small.ok() && second.ok() && large.ok());
    EXPECT_EQ(static_cast<std::byte*>(second->data) - static_cast<std::byte*>(small->data), 64);
    EXPECT_EQ(device.live, 2);
    EXPECT_TRUE(store.allocate(device, DType::kF32, {0}).ok());
    EXPECT_FALSE(store.allocate(device, DType::kF32, {std::int64_t{1} << 62U, 8}).ok());
    EXPECT_FALSE(store.allocate(device, DType::kQ8_0, {33}).ok());
    EXPECT_FALSE(store.allocate(device, DType::kF32, {-1}).ok());
  }
  EXPECT_EQ(device.live, 0);
}

TEST(WeightsReader, SkipsACopyOfATiedWeightAndRefusesAnotherOne) {
  const TemporaryFolder folder;
  const std::string header =
      R"({"lm_head.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("model.embed_tokens.weight":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})";
  std::string file = test::safetensors_file(header, 16);
  folder.write("model.safetensors", file);
  {
    Reading reading(folder.path());
    ASSERT_TRUE(reading.reader->read("model.embed_tokens.weight", {2}).ok());
    EXPECT_FALSE(reading.reader->finish().ok()) << "lm_head.weight is left over";
    EXPECT_TRUE(reading.reader->skip_copy("absent", "model.embed_tokens.weight").ok());
    EXPECT_TRUE(reading.reader->skip_copy("lm_head.weight", "model.embed_tokens.weight").ok());
    EXPECT_TRUE(reading.reader->finish().ok());
  }
  file.back() = 1;
  folder.write("model.safetensors", file);
  Reading reading(folder.path());
  const Status status = reading.reader->skip_copy("lm_head.weight", "model.embed_tokens.weight");
  EXPECT_NE(status.message().find("'lm_head.weight' differs"), std::string::npos);
}

std::uint16_t word_at(const void* data, std::int64_t index) {
  std::uint16_t word = 0;
  std::memcpy(&word, static_cast<const std::byte*>(data) + index * 2, sizeof(word));
  return word;
}

TEST(WeightsReader, ReordersRowsOfMatricesAndVectors) {
  Reading reading(test::test_data() / "models/gpt_neox");
  std::vector<std::int64_t> order(192);
  for (std::int64_t i = 0; i < 192; ++i) {
    order[static_cast<std::size_t>(i)] = (i * 7 + 5) % 192;
  }
  const std::string name = "gpt_neox.layers.0.attention.query_key_value";
  const auto matrix = reading.reader->read_rows(name + ".weight", {192, 64}, order);
  const auto vector = reading.reader->read_rows(name + ".bias", {192}, order, WeightKind::kVector);
  ASSERT_TRUE(matrix.ok() && vector.ok());
  const std::byte* stored = reading.checkpoint->find(name + ".weight")->data.data();
  const std::byte* shifts = reading.checkpoint->find(name + ".bias")->data.data();
  for (std::int64_t i = 0; i < 192; ++i) {
    const std::int64_t row = order[static_cast<std::size_t>(i)];
    EXPECT_EQ(word_at(vector->data, i), word_at(shifts, row));
    for (std::int64_t j = 0; j < 64; ++j) {
      ASSERT_EQ(word_at(matrix->data, i * 64 + j), word_at(stored, row * 64 + j));
    }
  }
  EXPECT_FALSE(reading.reader->read_rows(name + ".weight", {192, 32}, order).ok());
}

TEST(WeightsReader, TurnsTransposedMatrices) {
  Reading reading(test::test_data() / "models/gpt2");
  const std::string name = "transformer.h.0.attn.c_attn.weight";
  const auto matrix = reading.reader->read_transposed(name, 192, 64);
  ASSERT_TRUE(matrix.ok()) << matrix.status().message();
  EXPECT_EQ(to_string(*matrix), "bf16[192, 64]");
  const std::byte* stored = reading.checkpoint->find(name)->data.data();
  for (std::int64_t i = 0; i < 192; ++i) {
    for (std::int64_t j = 0; j < 64; ++j) {
      ASSERT_EQ(word_at(matrix->data, i * 64 + j), word_at(stored, j * 192 + i));
    }
  }
  EXPECT_FALSE(reading.reader->read_transposed(name, 64, 192).ok());
}

}  // namespace
}  // namespace godwit
