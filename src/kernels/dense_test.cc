#include <limits>

#include "kernels/kernel_rig.h"

namespace godwit {
namespace {

/// A handful of f32 roundings; exp within 2 units in the last place.
constexpr double kTolerance = 2e-6;

TEST(Dense, EmbeddingIsExact) {
  KernelRig oracle("ref", 1);
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    for (const DType type : kWeightTypes) {
      for (std::int64_t width = 1; width <= 512; width += width < 96 ? 1 : 32) {
        if (width % block_elements(type) != 0) {
          continue;
        }
        RandomData random(static_cast<std::uint32_t>(width));
        std::vector<std::byte> table = random.weights(type, 9 * width);
        std::vector<std::int32_t> ids = {0,
                                         8,
                                         3,
                                         -1,
                                         9,
                                         std::numeric_limits<std::int32_t>::max(),
                                         std::numeric_limits<std::int32_t>::min(),
                                         8};
        std::vector<float> expected(ids.size() * static_cast<std::size_t>(width), 7.0F);
        std::vector<float> got = expected;
        EmbeddingParams params{.table = view(table, type, {9, width}),
                               .ids = view(ids, DType::kI32, {8}),
                               .out = view(expected, DType::kF32, {8, width})};
        oracle.run(&KernelTable::embedding, params);
        params.out = view(got, DType::kF32, {8, width});
        rig.run(&KernelTable::embedding, params);
        ASSERT_TRUE(same_bits(got, expected)) << isa << " " << to_string(type) << " " << width;
        params.accumulate = true;
        rig.run(&KernelTable::embedding, params);
        params.out = view(expected, DType::kF32, {8, width});
        oracle.run(&KernelTable::embedding, params);
        ASSERT_TRUE(same_bits(got, expected)) << isa << " " << to_string(type) << " " << width;
      }
    }
  }
}

TEST(Dense, EveryHalfWidensExactly) {
  // All bit patterns, subnormals and infinities among them (NaN payloads may differ).
  KernelRig oracle("ref", 1);
  for (const DType type : {DType::kF16, DType::kBF16}) {
    std::vector<std::uint16_t> table(65536);
    for (std::size_t i = 0; i < table.size(); ++i) {
      table[i] = static_cast<std::uint16_t>(i);
    }
    std::vector<std::int32_t> ids = {0};
    std::vector<float> expected(65536);
    EmbeddingParams params{.table = view(table, type, {1, 65536}),
                           .ids = view(ids, DType::kI32, {1}),
                           .out = view(expected, DType::kF32, {1, 65536})};
    oracle.run(&KernelTable::embedding, params);
    for (const std::string& isa : fast_tables()) {
      KernelRig rig(isa, 1);
      std::vector<float> got(65536);
      params.out = view(got, DType::kF32, {1, 65536});
      rig.run(&KernelTable::embedding, params);
      ASSERT_TRUE(close(got, expected, 0.0)) << isa << " " << to_string(type);
    }
  }
}

TEST(Dense, RmsNorm) {
  KernelRig oracle("ref", 1);
  for (const std::string& isa : fast_tables()) {
    for (const int threads : {1, 3}) {
      KernelRig rig(isa, threads);
      for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
        for (const std::int64_t width : {1, 2, 15, 16, 17, 33, 64, 576}) {
          RandomData random(static_cast<std::uint32_t>(width));
          std::vector<float> x = random.numbers(8 * 3 * (width + 1));
          std::vector<std::byte> weight = random.weights(type, width);
          std::vector<float> expected(x.size());
          std::vector<float> got(x.size());
          const auto part = [&](std::vector<float>& data) {
            return view(data, DType::kF32, {8, 3, width + 1}).slice(2, 0, width);
          };
          RmsNormParams params{.x = part(x),
                               .weight = view(weight, type, {width}),
                               .out = part(expected),
                               .epsilon = 1e-5F,
                               .weight_offset = width % 2 == 0 ? 1.0F : 0.0F};
          oracle.run(&KernelTable::rms_norm, params);
          params.out = part(got);
          rig.run(&KernelTable::rms_norm, params);
          ASSERT_TRUE(close(got, expected, kTolerance)) << isa << " width " << width;
          params.out = params.x;
          rig.run(&KernelTable::rms_norm, params);
          for (std::size_t i = 0; i < x.size(); ++i) {
            ASSERT_TRUE(static_cast<std::int64_t>(i) % (width + 1) == width || x[i] == got[i]);
          }
        }
      }
    }
  }
}

TEST(Dense, GatherRows) {
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    RandomData random(1);
    std::vector<float> x = random.numbers(5 * 7);
    std::vector<std::int32_t> rows = {4, 0, -1, 5, 4, 2147483647};
    std::vector<float> out(6 * 7, 9.0F);
    rig.run(&KernelTable::gather_rows, {.x = view(x, DType::kF32, {5, 7}),
                                        .rows = view(rows, DType::kI32, {6}),
                                        .out = view(out, DType::kF32, {6, 7})});
    for (std::size_t r = 0; r < 6; ++r) {
      const bool known = rows[r] >= 0 && rows[r] < 5;
      for (std::size_t i = 0; i < 7; ++i) {
        EXPECT_EQ(out[r * 7 + i], known ? x[static_cast<std::size_t>(rows[r]) * 7 + i] : 0.0F);
      }
    }
  }
}

TEST(Dense, Rope) {
  KernelRig oracle("ref", 1);
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    for (const bool interleaved : {false, true}) {
      for (const std::int64_t rotary : {2, 6, 8, 30, 32, 34, 64, 96, 128}) {
        RandomData random(static_cast<std::uint32_t>(rotary));
        const std::int64_t head_dim = rotary + 5;
        std::vector<float> x = random.numbers(40 * 4 * head_dim);
        std::vector<float> got = x;
        std::vector<float> table = random.numbers(16 * rotary);
        std::vector<std::int32_t> positions(40);
        for (std::int32_t& position : positions) {
          position = static_cast<std::int32_t>(random.integer(0, 15));
        }
        RopeParams params{.x = view(x, DType::kF32, {40, 4, head_dim}).slice(1, 1, 3),
                          .positions = view(positions, DType::kI32, {40}),
                          .cos_sin = view(table, DType::kF32, {16, rotary}),
                          .interleaved = interleaved};
        oracle.run(&KernelTable::rope, params);
        params.x = view(got, DType::kF32, {40, 4, head_dim}).slice(1, 1, 3);
        rig.run(&KernelTable::rope, params);
        ASSERT_TRUE(close(got, x, kTolerance)) << isa << " rotary " << rotary;
      }
    }
  }
}

}  // namespace
}  // namespace godwit
