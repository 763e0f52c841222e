#include "weights/gguf.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/sha256.h"
#include "support/fixtures.h"
#include "weights/safetensors.h"
#include "weights/test_files.h"

namespace godwit {
namespace {

using test::bytes_of;
using test::GgufBuilder;
using test::hex;

constexpr std::uint32_t kF32 = 0;
constexpr std::uint32_t kQ8_0 = 8;

std::filesystem::path weights_data() {
  return test::test_data() / "weights";
}

Json read_reference(std::string_view name) {
  auto json = parse_json(test::read_text(weights_data() / name), name);
  EXPECT_TRUE(json.ok());
  return *json;
}

float half_to_float(std::uint16_t bits) {
  const int exponent = (bits >> 10U) & 31U;
  const int fraction = bits & 1023U;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return static_cast<float>((bits & 0x8000U) != 0 ? -magnitude : magnitude);
}

std::uint16_t read_u16(const std::byte* at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(at[0]) |
                                    std::to_integer<unsigned>(at[1]) << 8U);
}

/// Decodes element `index` as tensor/dtype.h documents the types.
float decode(DType dtype, std::span<const std::byte> data, std::size_t index) {
  const auto block = static_cast<std::size_t>(block_elements(dtype));
  const std::byte* at = data.data() + index / block * block_bytes(dtype);
  const std::size_t lane = index % block;
  const auto nibble = [&](const std::byte* bytes) {
    const auto value = std::to_integer<unsigned>(bytes[lane % 16]);
    return static_cast<int>(lane < 16 ? value & 15U : value >> 4U);
  };
  switch (dtype) {
    case DType::kF32: {
      float value = 0;
      std::memcpy(&value, at, sizeof(value));
      return value;
    }
    case DType::kF16:
      return half_to_float(read_u16(at));
    case DType::kBF16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(read_u16(at)) << 16U);
    case DType::kQ8_0:
      return half_to_float(read_u16(at)) *
             static_cast<float>(std::to_integer<std::int8_t>(at[2 + lane]));
    case DType::kQ4_0:
      return half_to_float(read_u16(at)) * static_cast<float>(nibble(at + 2) - 8);
    case DType::kQ4_1:
      return half_to_float(read_u16(at)) * static_cast<float>(nibble(at + 4)) +
             half_to_float(read_u16(at + 2));
    default:
      return std::numeric_limits<float>::quiet_NaN();
  }
}

TEST(Gguf, ListsTensorsAsTheReferencePackageDoes) {
  const auto file = GgufFile::open(weights_data() / "types.gguf");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->version(), 3U);
  const Json reference = read_reference("types.json");
  const JsonArray& expected = reference.find("tensors")->as_array();
  ASSERT_EQ(file->tensors().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const StoredTensor& tensor = file->tensors()[i];
    EXPECT_EQ(tensor.name, expected[i].find("name")->as_string());
    EXPECT_EQ(tensor.dtype_name, expected[i].find("dtype")->as_string());
    EXPECT_EQ(hex(sha256(tensor.data)), expected[i].find("sha256")->as_string()) << tensor.name;
    JsonArray shape;
    for (const std::int64_t size : tensor.shape) {
      shape.emplace_back(size);
    }
    EXPECT_EQ(Json(shape), *expected[i].find("shape")) << tensor.name;
  }
  EXPECT_FALSE(file->find("output.weight")->dtype.has_value());
  EXPECT_EQ(file->find("table.ids")->dtype, DType::kI32);
}

TEST(Gguf, StoredFormsHoldTheReferenceValues) {
  const auto file = GgufFile::open(weights_data() / "types.gguf");
  const auto values = SafetensorsFile::open(weights_data() / "types.safetensors");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(values.ok());
  ASSERT_EQ(values->tensors().size(), 8U);
  for (const StoredTensor& expected : values->tensors()) {
    const StoredTensor* tensor = file->find(expected.name);
    ASSERT_NE(tensor, nullptr);
    ASSERT_EQ(tensor->shape, expected.shape);
    const auto count = static_cast<std::size_t>(*element_count(expected.shape));
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(decode(*tensor->dtype, tensor->data, i), decode(DType::kF32, expected.data, i))
          << expected.name << " element " << i;
    }
  }
}

TEST(Gguf, ReadsEveryKindOfMetadata) {
  const auto file = GgufFile::open(weights_data() / "types.gguf");
  ASSERT_TRUE(file.ok());
  const Json reference = read_reference("types.json");
  int compared = 0;
  for (const auto& [key, value] : reference.find("metadata")->as_object()) {
    if (key == "test.uint64_large") {
      EXPECT_FALSE(file->get_integer(key).ok());
    } else if (value.is_bool()) {
      EXPECT_EQ(*file->get_bool(key), value.as_bool()) << key;
    } else if (value.is_integer()) {
      EXPECT_EQ(*file->get_integer(key), value.to_int64()) << key;
    } else if (value.is_double()) {
      EXPECT_EQ(*file->get_number(key), value.as_double()) << key;
    } else if (value.is_string()) {
      EXPECT_EQ(*file->get_string(key), value.as_string()) << key;
    } else if (key == "test.strings") {
      const auto strings = file->get_strings(key);
      ASSERT_TRUE(strings.ok());
      EXPECT_EQ(Json(JsonArray(strings->begin(), strings->end())), value);
    } else if (key == "test.floats") {
      const auto floats = file->get_floats(key);
      ASSERT_TRUE(floats.ok());
      ASSERT_EQ(floats->size(), value.as_array().size());
      for (std::size_t i = 0; i < floats->size(); ++i) {
        EXPECT_EQ(double{(*floats)[i]}, value.as_array()[i].as_double());
      }
    } else {
      const auto integers = file->get_integers(key);
      ASSERT_TRUE(integers.ok()) << key;
      EXPECT_EQ(Json(JsonArray(integers->begin(), integers->end())), value) << key;
    }
    ++compared;
  }
  EXPECT_EQ(compared, 20);
  EXPECT_TRUE(file->contains("test.nested"));
}

TEST(Gguf, GettersNameFileAndKey) {
  const auto file = GgufFile::open(weights_data() / "types.gguf");
  ASSERT_TRUE(file.ok());
  const Status absent = file->get_integer("no.such").status();
  EXPECT_EQ(absent.code(), StatusCode::kNotFound);
  EXPECT_NE(absent.message().find("'no.such'"), std::string::npos);
  EXPECT_NE(absent.message().find("types.gguf"), std::string::npos);
  const Status wrong[] = {
      file->get_string("test.uint8").status(),    file->get_integer("test.string").status(),
      file->get_integer("test.strings").status(), file->get_number("test.true").status(),
      file->get_bool("test.uint8").status(),      file->get_strings("test.integers").status(),
      file->get_strings("test.string").status(),  file->get_integers("test.floats").status(),
      file->get_integers("test.nested").status(), file->get_floats("test.integers").status(),
      file->get_floats("test.strings").status(),  file->get_bools("test.integers").status(),
      file->get_bools("test.true").status(),
  };
  for (const Status& status : wrong) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("metadata key 'test."), std::string::npos);
  }
  EXPECT_EQ(*file->get_number("test.int16"), -30000.0);
}

TEST(Gguf, HonoursTheAlignmentKey) {
  const auto file = GgufFile::open(weights_data() / "aligned.gguf");
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ(file->tensors().size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const StoredTensor& tensor = file->tensors()[i];
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data.data()) % 128, 0U);
    EXPECT_EQ(decode(DType::kF32, tensor.data, 4), static_cast<float>(i));
  }
}

TEST(Gguf, ReadsVersionTwoAndRefusesOthers) {
  std::string bytes = test::read_text(weights_data() / "types.gguf");
  bytes[4] = 2;
  EXPECT_TRUE(GgufFile::parse(bytes_of(bytes), "v2").ok());
  for (const char version : {'\0', '\1', '\4'}) {
    bytes[4] = version;
    EXPECT_EQ(GgufFile::parse(bytes_of(bytes), "x").status().code(), StatusCode::kUnimplemented);
  }
  bytes.replace(4, 4, std::string("\0\0\0\3", 4));
  const Status status = GgufFile::parse(bytes_of(bytes), "x").status();
  EXPECT_NE(status.message().find("big-endian"), std::string::npos);
  bytes[0] = 'g';
  EXPECT_FALSE(GgufFile::parse(bytes_of(bytes), "x").ok());
}

TEST(Gguf, RefusesEveryTruncation) {
  const std::string whole = test::read_text(weights_data() / "types.gguf");
  for (std::size_t part = 0; part < 16; ++part) {
    const std::string cut = whole.substr(0, whole.size() * part / 16);
    const auto file = GgufFile::parse(bytes_of(cut), "cut.gguf");
    ASSERT_FALSE(file.ok()) << part;
    EXPECT_NE(file.status().message().find("cut.gguf"), std::string::npos);
  }
  for (std::size_t size = 0; size < 2048; ++size) {
    EXPECT_FALSE(GgufFile::parse(bytes_of(std::string_view(whole).substr(0, size)), "x").ok());
  }
}

TEST(Gguf, SurvivesEveryFlippedByteOfTheHeader) {
  const std::string whole = test::read_text(weights_data() / "types.gguf");
  for (std::size_t at = 0; at < 2048; ++at) {
    for (const char value : {'\0', '\x7F', '\xFF'}) {
      std::string flipped = whole;
      flipped[at] = value;
      const auto file = GgufFile::parse(bytes_of(flipped), "flipped.gguf");
      if (!file.ok()) {
        EXPECT_NE(file.status().message().find("flipped.gguf"), std::string::npos);
      }
    }
  }
}

struct BrokenFile {
  std::string bytes;
  std::string_view expected;
};

TEST(Gguf, RefusesBrokenTensorsNamingThem) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 62U;
  const BrokenFile cases[] = {
      {GgufBuilder(1, 0).tensor("a", {8}, kF32, 0).data(16), "tensor 'a' lies at byte 0"},
      {GgufBuilder(1, 0).tensor("a", {4}, kF32, 32).data(32), "tensor 'a' lies at byte 32"},
      {GgufBuilder(1, 0).tensor("a", {4}, kF32, 4).data(64), "multiple of the alignment 32"},
      {GgufBuilder(1, 0).tensor("a", {4}, kF32, ~std::uint64_t{31}).data(64), "'a' lies at byte"},
      {GgufBuilder(1, 0).tensor("a", {33}, kQ8_0, 0).data(64), "rows of 33 elements"},
      {GgufBuilder(1, 0).tensor("a", {kHuge, 8}, kF32, 0).data(64), "product overflows"},
      {GgufBuilder(1, 0).tensor("a", {kHuge}, kF32, 0).data(64), "size overflows"},
      {GgufBuilder(1, 0).tensor("a", {~std::uint64_t{0}}, kF32, 0).data(64), "a dimension of"},
      {GgufBuilder(1, 0).tensor("a", {1, 1, 1, 1, 1}, kF32, 0).data(64), "has 5 dimensions"},
      {GgufBuilder(2, 0).tensor("a", {16}, kF32, 0).tensor("b", {4}, kF32, 32).data(64),
       "tensor 'b' overlaps tensor 'a'"},
      {GgufBuilder(2, 0).tensor("a", {4}, kF32, 0).tensor("a", {4}, kF32, 32).data(64),
       "tensor 'a' occurs twice"},
      {GgufBuilder(2, 0).tensor("a", {4}, kF32, 0).data(0), "announces 2 tensors"},
      {GgufBuilder(2, 0).tensor("a", {4}, kF32, 0).data(64), "tensor"},
  };
  for (const BrokenFile& broken : cases) {
    const auto file = GgufFile::parse(bytes_of(broken.bytes), "file.gguf");
    ASSERT_FALSE(file.ok()) << broken.expected;
    EXPECT_NE(file.status().message().find(broken.expected), std::string::npos)
        << broken.expected << " != " << file.status().message();
    EXPECT_NE(file.status().message().find("file.gguf"), std::string::npos);
  }
}

TEST(Gguf, RefusesBrokenMetadataNamingTheKey) {
  const auto entry = [](std::uint32_t type) {
    return GgufBuilder(0, 1).string("key").number(type);
  };
  const auto array = [&](std::uint32_t element, std::uint64_t count) {
    return entry(9).number(element).number(count);
  };
  const auto nested = [&](int depth) {
    GgufBuilder builder = entry(9);
    for (int i = 0; i < depth; ++i) {
      builder.number<std::uint32_t>(9).number<std::uint64_t>(1);
    }
    return builder.number<std::uint32_t>(0).number<std::uint64_t>(0);
  };
  const auto alignment = [](std::uint32_t value) {
    return GgufBuilder(0, 1).string("general.alignment").number<std::uint32_t>(4).number(value);
  };
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 61U;
  const BrokenFile cases[] = {
      {entry(13).data(32), "key 'key' has the unknown type 13"},
      {entry(8).number(kHuge).data(32), "key 'key' needs"},
      {array(4, kHuge).data(32), "key 'key' announces"},
      {array(8, kHuge).data(32), "key 'key' announces"},
      {array(9, kHuge).data(32), "key 'key' announces"},
      {array(77, 1).data(32), "key 'key' has the unknown type 77"},
      {array(77, 0).data(32), "key 'key' has the unknown type 77"},
      {nested(4).data(32), "key 'key' nests arrays"},
      {alignment(0).data(0), "'general.alignment' is 0"},
      {alignment(24).data(0), "'general.alignment' is 24"},
      {alignment(1U << 31U).data(0), "'general.alignment' is 2147483648"},
      {GgufBuilder(0, 1).string("general.alignment").number<std::uint32_t>(8).string("x").data(32),
       "'general.alignment' holds"},
      {GgufBuilder(0, 1).number(kHuge).data(32), "metadata entry 0 needs"},
      {GgufBuilder(0, kHuge).data(32), "metadata entries"},
      {GgufBuilder(kHuge, 0).data(32), "tensors"},
      {GgufBuilder(0, 1'000'001).data(std::size_t{16} << 20U), "more than a million"},
      {GgufBuilder(1'000'001, 0).data(std::size_t{32} << 20U), "more than a million"},
      {GgufBuilder(0, 2)
           .string("key")
           .number<std::uint32_t>(7)
           .number<std::uint8_t>(1)
           .string("key")
           .number<std::uint32_t>(7)
           .number<std::uint8_t>(1)
           .data(0),
       "key 'key' occurs twice"},
  };
  for (const BrokenFile& broken : cases) {
    const auto file = GgufFile::parse(bytes_of(broken.bytes), "file.gguf");
    ASSERT_FALSE(file.ok()) << broken.expected;
    EXPECT_NE(file.status().message().find(broken.expected), std::string::npos)
        << broken.expected << " != " << file.status().message();
    EXPECT_NE(file.status().message().find("file.gguf"), std::string::npos);
  }
  EXPECT_TRUE(GgufFile::parse(bytes_of(nested(3).bytes()), "x").ok());
}

TEST(Gguf, ListsTensorsOfUnknownTypes) {
  const std::string bytes =
      GgufBuilder(2, 0).tensor("a", {5}, 999, 0).tensor("b", {8}, kF32, 0).data(64);
  const auto file = GgufFile::parse(bytes_of(bytes), "x");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_FALSE(file->find("a")->dtype.has_value());
  EXPECT_EQ(file->find("a")->dtype_name, "ggml type 999");
}

}  // namespace
}  // namespace godwit
