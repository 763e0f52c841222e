// Random blocks of every quantised type, widened by every instruction set, against what the gguf
// package and ggml make of them (tools/make_gguf_blocks.py): equal bits.

#include "kernels/kernel_rig.h"
#include "support/fixtures.h"
#include "weights/gguf.h"
#include "weights/safetensors.h"

namespace godwit {
namespace {

struct Blocks {
  GgufFile stored = GgufFile::open(test::test_data() / "gguf" / "blocks.gguf").value();
  SafetensorsFile widened =
      SafetensorsFile::open(test::test_data() / "gguf" / "blocks.safetensors").value();

  [[nodiscard]] std::vector<float> expected(const StoredTensor& tensor) const {
    const StoredTensor* values = widened.find(tensor.name);
    CHECK(values != nullptr && values->shape == tensor.shape);
    std::vector<float> result(values->data.size() / sizeof(float));
    std::memcpy(result.data(), values->data.data(), values->data.size());
    return result;
  }
};

Tensor tensor_of(const StoredTensor& stored) {
  auto* data = const_cast<std::byte*>(stored.data.data());  // NOLINT(*-const-cast)
  return Tensor::contiguous(data, stored.dtype.value(), {stored.shape[0], stored.shape[1]});
}

std::vector<std::string> all_tables() {
  std::vector<std::string> names = fast_tables();
  names.emplace_back("ref");
  return names;
}

TEST(GgufBlocks, HoldEveryQuantisedType) {
  const Blocks blocks;
  std::size_t found = 0;
  for (const DType type : kWeightTypes) {
    found += is_quantized(type) && type <= DType::kQ8_K ? 1 : 0;  // The others are no file's.
  }
  EXPECT_EQ(blocks.stored.tensors().size(), found);
}

TEST(GgufBlocks, AnEmbeddingHasTheBitsOfTheReference) {
  const Blocks blocks;
  for (const std::string& isa : all_tables()) {
    KernelRig rig(isa, 1);
    for (const StoredTensor& stored : blocks.stored.tensors()) {
      const std::int64_t rows = stored.shape[0];
      std::vector<std::int32_t> ids(static_cast<std::size_t>(rows));
      for (std::size_t i = 0; i < ids.size(); ++i) {
        ids[i] = static_cast<std::int32_t>(i);
      }
      const std::vector<float> expected = blocks.expected(stored);
      std::vector<float> got(expected.size());
      EmbeddingParams params;
      params.table = tensor_of(stored);
      params.ids = view(ids, DType::kI32, {rows});
      params.out = view(got, DType::kF32, {rows, stored.shape[1]});
      rig.run(&KernelTable::embedding, params);
      EXPECT_TRUE(same_bits(got, expected)) << isa << " " << stored.name;
    }
  }
}

TEST(GgufBlocks, AnExactProductWithUnitVectorsGivesTheReference) {
  const Blocks blocks;
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 1);
    for (const StoredTensor& stored : blocks.stored.tensors()) {
      const std::int64_t n = stored.shape[0];
      const std::int64_t k = stored.shape[1];
      std::vector<float> units(static_cast<std::size_t>(k * k), 0.0F);
      for (std::int64_t i = 0; i < k; ++i) {
        units[static_cast<std::size_t>(i * k + i)] = 1.0F;
      }
      std::vector<float> got(static_cast<std::size_t>(k * n));
      GemmParams params;
      params.x = view(units, DType::kF32, {k, k});
      params.weight = tensor_of(stored);
      params.out = view(got, DType::kF32, {k, n});
      rig.run(&KernelTable::gemm, params);
      const std::vector<float> expected = blocks.expected(stored);
      for (std::int64_t i = 0; i < k * n; ++i) {
        ASSERT_EQ(got[static_cast<std::size_t>(i)],
                  expected[static_cast<std::size_t>(i % n * k + i / n)])
            << isa << " " << stored.name << " element " << i;
      }
    }
  }
}

}  // namespace
}  // namespace godwit
