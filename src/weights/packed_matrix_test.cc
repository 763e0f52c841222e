// Each scheme's matrices repacked, against the schemes' formulas written out anew; and everything
// that may be wrong with their parts.

#include "weights/packed_matrix.h"

#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "weights/test_files.h"

namespace godwit {
namespace {

struct Part {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string data;
};
using Parts = std::map<std::string, Part>;

template <class T>
std::string packed(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Parts written to a file and opened.
class Written {
 public:
  explicit Written(const Parts& parts) {
    std::string header = "{";
    std::string data;
    for (const auto& [name, part] : parts) {
      header += header.size() > 1 ? ",\"" : "\"";
      header += name + R"(":{"dtype":")" + part.dtype + R"(","shape":)" + shape_text(part.shape);
      header += ",\"data_offsets\":[" + std::to_string(data.size()) + ",";
      data += part.data;
      header += std::to_string(data.size()) + "]}";
    }
    std::string file = test::safetensors_file(header + "}", 0);
    folder_.write("model.safetensors", file + data);
    auto opened = Checkpoint::open(folder_.path());
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    checkpoint_.emplace(std::move(opened).value());
  }
  [[nodiscard]] Result<PackedMatrix> open(const char* name, const Quantization& quantization,
                                          const PackedMatrix::Shape& shape) const {
    return PackedMatrix::open(*checkpoint_, name, find_parts(*checkpoint_, name, quantization),
                              quantization, shape);
  }
  [[nodiscard]] std::size_t bytes() const { return checkpoint_->total_bytes(); }

 private:
  test::TemporaryFolder folder_;
  std::optional<Checkpoint> checkpoint_;
};

constexpr std::uint16_t kHalfOne = 0x3C00;
const Quantization kGptq = {.method = QuantMethod::kGptq, .group_size = 32};
const Quantization kAwq = {.method = QuantMethod::kAwq, .group_size = 32};
const Quantization kFp8 = {.method = QuantMethod::kFp8, .block_rows = 128, .block_columns = 128};
const Quantization kInt8 = {.method = QuantMethod::kInt8};
const Quantization kMxfp4 = {.method = QuantMethod::kMxfp4};

/// 16 outputs, 64 inputs in 2 groups, whose words, zeros and scales differ everywhere.
Parts int4_parts(bool is_gptq, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint32_t> words(128);
  std::vector<std::uint32_t> zeros(4);
  std::vector<std::uint16_t> scales(32);
  for (auto& word : words) {
    word = random();
  }
  for (auto& word : zeros) {
    word = random();
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = static_cast<std::uint16_t>(kHalfOne + i);
  }
  Parts parts = {{"a.qweight", {"I32", {8, 16}, packed(words)}},
                 {"a.qzeros", {"I32", {2, 2}, packed(zeros)}},
                 {"a.scales", {"F16", {2, 16}, packed(scales)}}};
  if (is_gptq) {
    std::vector<std::int32_t> groups(64);
    for (std::size_t i = 0; i < 64; ++i) {
      groups[i] = static_cast<std::int32_t>(i * 7 % 64 / 32);
    }
    parts["a.g_idx"] = {"I32", {64}, packed(groups)};
  } else {
    parts["a.qweight"].shape = {64, 2};
  }
  return parts;
}

std::uint32_t word_at(const Parts& parts, const char* name, std::int64_t index) {
  std::uint32_t word;
  std::memcpy(&word, parts.at(name).data.data() + index * 4, 4);
  return word;
}

/// Code, zero point and place of the scale in a repacked row of I4_32.
struct Unpacked4 {
  int code;
  int zero;
  int scale;
};
Unpacked4 unpack4(const std::vector<std::byte>& row, std::int64_t column) {
  const std::byte* block = row.data() + column / 32 * 20;
  const int byte = std::to_integer<int>(block[4 + column % 16]);
  std::uint16_t scale;
  std::memcpy(&scale, block, 2);
  return {column % 32 < 16 ? byte & 15 : byte >> 4, std::to_integer<int>(block[2]),
          scale - kHalfOne};
}

TEST(PackedMatrix, GptqInAnyOrder) {
  const Parts parts = int4_parts(true, 1);
  const Written written(parts);
  const auto matrix = written.open("a.weight", kGptq, {.rows = 16, .columns = 64});
  ASSERT_TRUE(matrix.ok()) << matrix.status().message();
  ASSERT_EQ(matrix->dtype(), DType::kI4_32);
  ASSERT_EQ(matrix->input_order().size(), 64U);
  std::vector<std::byte> row(matrix->row_bytes());
  for (std::int64_t o = 0; o < 16; ++o) {
    matrix->pack_row(o, row);
    for (std::int64_t column = 0; column < 64; ++column) {
      const std::int64_t i = matrix->input_order()[static_cast<std::size_t>(column)];
      const std::uint32_t g = word_at(parts, "a.g_idx", i);
      const Unpacked4 got = unpack4(row, column);
      EXPECT_EQ(got.code, static_cast<int>(
                              word_at(parts, "a.qweight", i / 8 * 16 + o) >> (4 * (i % 8)) & 15U));
      EXPECT_EQ(
          got.zero,
          static_cast<int>(word_at(parts, "a.qzeros", g * 2 + o / 8) >> (4 * (o % 8)) & 15U) + 1);
      EXPECT_EQ(got.scale, static_cast<int>(g * 16 + o));
    }
  }
}

TEST(PackedMatrix, AwqsOrderWithinAWord) {
  constexpr int kColumnOfNibble[8] = {0, 2, 4, 6, 1, 3, 5, 7};
  const Parts parts = int4_parts(false, 2);
  const Written written(parts);
  const auto matrix = written.open("a.weight", kAwq, {.rows = 16, .columns = 64});
  ASSERT_TRUE(matrix.ok()) << matrix.status().message();
  EXPECT_TRUE(matrix->input_order().empty());
  std::vector<std::byte> row(matrix->row_bytes());
  for (std::int64_t word = 0; word < 2; ++word) {
    for (int n = 0; n < 8; ++n) {
      const std::int64_t o = word * 8 + kColumnOfNibble[n];
      matrix->pack_row(o, row);
      for (std::int64_t i = 0; i < 64; ++i) {
        const Unpacked4 got = unpack4(row, i);
        EXPECT_EQ(got.code,
                  static_cast<int>(word_at(parts, "a.qweight", i * 2 + word) >> (4 * n) & 15U));
        EXPECT_EQ(got.zero,
                  static_cast<int>(word_at(parts, "a.qzeros", i / 32 * 2 + word) >> (4 * n) & 15U));
        EXPECT_EQ(got.scale, static_cast<int>(i / 32 * 16 + o));
      }
    }
  }
}

Parts fp8_parts(std::int64_t rows, std::int64_t columns) {
  std::vector<float> scales(static_cast<std::size_t>((rows + 127) / 128 * ((columns + 127) / 128)));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = 0.5F + static_cast<float>(i);
  }
  std::string codes(static_cast<std::size_t>(rows * columns), '\0');
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<char>(i * 37 % 251);
  }
  return {
      {"a.weight", {"F8_E4M3", {rows, columns}, codes}},
      {"a.weight_scale_inv", {"F32", {(rows + 127) / 128, (columns + 127) / 128}, packed(scales)}}};
}

TEST(PackedMatrix, Fp8BlocksThatStickOut) {
  for (const std::int64_t columns : {256, 160}) {
    const Written written(fp8_parts(200, columns));
    const auto matrix = written.open("a.weight", kFp8, {.rows = 200, .columns = columns});
    ASSERT_TRUE(matrix.ok()) << matrix.status().message();
    const std::int64_t size = block_elements(matrix->dtype());
    EXPECT_EQ(size, columns == 256 ? 128 : 32);
    std::vector<std::byte> row(matrix->row_bytes());
    for (const std::int64_t o : {0, 127, 128, 199}) {
      matrix->pack_row(o, row);
      for (std::int64_t i = 0; i < columns; ++i) {
        const std::byte* block = row.data() + i / size * (size + 4);
        float scale;
        std::memcpy(&scale, block, 4);
        EXPECT_EQ(scale, 0.5F + static_cast<float>(o / 128 * 2 + i / 128));
        EXPECT_EQ(std::to_integer<int>(block[4 + i % size]), (o * columns + i) * 37 % 251);
      }
    }
  }
}

TEST(PackedMatrix, MxfpsLowNibbleIsTheEvenInput) {
  std::string blocks(2 * 3 * 2 * 16, '\0');
  std::string scales(2 * 3 * 2, '\0');
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = static_cast<char>(i * 29);
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = static_cast<char>(100 + i);
  }
  const Written written(
      {{"a_blocks", {"U8", {2, 3, 2, 16}, blocks}}, {"a_scales", {"U8", {2, 3, 2}, scales}}});
  const auto matrix = written.open("a", kMxfp4, {.matrices = 2, .rows = 3, .columns = 64});
  ASSERT_TRUE(matrix.ok()) << matrix.status().message();
  std::vector<std::byte> row(matrix->row_bytes());
  matrix->pack_row(4, row);
  for (std::size_t i = 0; i < 64; ++i) {
    const std::byte* block = row.data() + i / 32 * 17;
    EXPECT_EQ(std::to_integer<int>(block[0]), static_cast<int>(100 + 4 * 2 + i / 32));
    const int pair = static_cast<std::uint8_t>(blocks[4 * 32 + i / 2]);
    const int byte = std::to_integer<int>(block[1 + i % 16]);
    EXPECT_EQ(i % 32 < 16 ? byte & 15 : byte >> 4, i % 2 == 0 ? pair & 15 : pair >> 4);
  }
}

Parts int8_parts(std::int64_t rows, std::int64_t columns) {
  return {{"a.weight",
           {"I8", {rows, columns}, std::string(static_cast<std::size_t>(rows * columns), '\x80')}},
          {"a.weight_scale",
           {"BF16",
            {rows, 1},
            packed(std::vector<std::uint16_t>(static_cast<std::size_t>(rows), 0x3F80))}}};
}

TEST(PackedMatrix, MemoryIsThatOfTheFile) {
  const Written int8(int8_parts(64, 512));
  const auto bytes = int8.open("a.weight", kInt8, {.rows = 64, .columns = 512});
  EXPECT_LT(static_cast<double>(bytes->row_bytes() * 64), 1.04 * static_cast<double>(int8.bytes()));
  const Written fp8(fp8_parts(256, 512));
  const auto codes = fp8.open("a.weight", kFp8, {.rows = 256, .columns = 512});
  EXPECT_LT(static_cast<double>(codes->row_bytes() * 256), 1.04 * static_cast<double>(fp8.bytes()));
  const Written int4(int4_parts(false, 3));
  const auto nibbles = int4.open("a.weight", kAwq, {.rows = 16, .columns = 64});
  EXPECT_LT(static_cast<double>(nibbles->row_bytes() * 16),
            1.09 * static_cast<double>(int4.bytes()));
}

struct BadPart {
  const char* what;
  Parts parts;
  Quantization quantization;
  PackedMatrix::Shape shape;
  const char* named;
};

template <class Change>
Parts changed(Parts parts, const Change& change) {
  change(parts);
  return parts;
}

std::vector<BadPart> bad_parts() {
  const PackedMatrix::Shape shape = {.rows = 16, .columns = 64};
  const auto put = [](const char* name, std::size_t at, const std::string& bytes) {
    return [=](Parts& parts) { parts[name].data.replace(at, bytes.size(), bytes); };
  };
  const auto drop = [](const char* name) { return [=](Parts& parts) { parts.erase(name); }; };
  const auto type = [](const char* name, const char* dtype) {
    return [=](Parts& parts) { parts[name].dtype = dtype; };
  };
  const auto form = [](const char* name, std::vector<std::int64_t> wrong) {
    return [=](Parts& parts) { parts[name].shape = wrong; };
  };
  const Parts gptq = int4_parts(true, 4);
  const Parts fp8 = fp8_parts(16, 64);
  const Parts int8 = int8_parts(16, 64);
  return {
      {"no zeros", changed(gptq, drop("a.qzeros")), kGptq, shape, "no qzeros of 'a.weight'"},
      {"no scales", changed(gptq, drop("a.scales")), kGptq, shape, "no scales of 'a.weight'"},
      {"scales' type", changed(gptq, type("a.scales", "BF16")), kGptq, shape, "stored as BF16"},
      {"scales' shape", changed(gptq, form("a.scales", {16, 2})), kGptq, shape, "[16, 2]"},
      {"infinite", changed(gptq, put("a.scales", 2, std::string("\x00\x7c", 2))), kGptq, shape,
       "not finite at place 1"},
      {"group", changed(gptq, put("a.g_idx", 8, std::string("\2\0\0\0", 4))), kGptq, shape,
       "input 2 in group 2"},
      {"negative", changed(gptq, put("a.g_idx", 0, "\xff\xff\xff\xff")), kGptq, shape, "group -1"},
      {"uneven", changed(gptq, put("a.g_idx", 0, std::string(256, '\0'))), kGptq, shape,
       "input 32 in group 0"},
      {"size", gptq, {.method = QuantMethod::kGptq, .group_size = 96}, shape, "multiple of 96"},
      {"fp8 no scale", changed(fp8, drop("a.weight_scale_inv")), kFp8, shape, "weight_scale_inv"},
      {"fp8 NaN", changed(fp8, put("a.weight_scale_inv", 0, std::string("\x00\x00\xc0\x7f", 4))),
       kFp8, shape, "not finite"},
      {"fp8 odd", fp8_parts(16, 40), kFp8, {.rows = 16, .columns = 40}, "multiple of 32"},
      {"int8 shape", changed(int8, form("a.weight_scale", {1, 16})), kInt8, shape, "[1, 16]"},
      {"int8 NaN", changed(int8, put("a.weight_scale", 4, "\xc0\x7f")), kInt8, shape, "place 2"},
  };
}

TEST(PackedMatrix, BadPartsAreNamed) {
  for (const BadPart& bad : bad_parts()) {
    const auto matrix = Written(bad.parts).open("a.weight", bad.quantization, bad.shape);
    ASSERT_FALSE(matrix.ok()) << bad.what;
    EXPECT_NE(matrix.status().message().find(bad.named), std::string::npos)
        << bad.what << ": " << matrix.status().message();
  }
}

}  // namespace
}  // namespace godwit
