#include "weights/safetensors.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/sha256.h"
#include "support/fixtures.h"
#include "weights/test_files.h"

namespace godwit {
namespace {

using test::bytes_of;
using test::hex;
using test::safetensors_file;

/// The digest that tools/make_gguf_fixture.py describes.
std::string listing_digest(const std::vector<StoredTensor>& tensors) {
  std::vector<std::string> lines;
  for (const StoredTensor& tensor : tensors) {
    lines.push_back(tensor.name + " " + tensor.dtype_name + " " + shape_text(tensor.shape) + " " +
                    hex(sha256(tensor.data)) + "\n");
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) {
    text += line;
  }
  return hex(sha256(bytes_of(text)));
}

/// Compares every file of the reference that is below `root`; returns how many there were.
int compare_fixtures(const std::filesystem::path& root) {
  const auto reference =
      parse_json(test::read_text(test::test_data() / "weights" / "fixtures.json"), "fixtures.json");
  EXPECT_TRUE(reference.ok());
  int compared = 0;
  for (const auto& [path, expected] : reference->as_object()) {
    if (!std::filesystem::exists(root / path)) {
      continue;
    }
    const auto file = SafetensorsFile::open(root / path);
    EXPECT_TRUE(file.ok()) << file.status().message();
    if (file.ok()) {
      EXPECT_EQ(static_cast<std::int64_t>(file->tensors().size()),
                expected.find("tensors")->to_int64().value_or(-1))
          << path;
      EXPECT_EQ(listing_digest(file->tensors()), expected.find("digest")->as_string()) << path;
    }
    ++compared;
  }
  return compared;
}

TEST(Safetensors, ReadsCommittedFixturesAsTheReferencePackageDoes) {
  EXPECT_GE(compare_fixtures(test::test_data()), 30);
}

TEST(Safetensors, ReadsAllSharedFixturesAsTheReferencePackageDoes) {
  const auto root = test::shared_fixtures();
  if (!root) {
    GTEST_SKIP() << "no ../shared/fixtures";
  }
  EXPECT_GT(compare_fixtures(*root), 170);
}

TEST(Safetensors, FindsByName) {
  const auto file = SafetensorsFile::open(test::test_data() / "models/qwen3/model.safetensors");
  ASSERT_TRUE(file.ok());
  const StoredTensor* tensor = file->find("model.layers.0.self_attn.q_norm.weight");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->dtype, DType::kBF16);
  EXPECT_EQ(tensor->shape, (std::vector<std::int64_t>{32}));
  EXPECT_EQ(tensor->data.size(), 64U);
  EXPECT_EQ(file->find("model.layers.0.self_attn.q_norm"), nullptr);
}

TEST(Safetensors, ListsTypesItCannotComputeOn) {
  const std::string file = safetensors_file(
      R"({"a":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]},)"
      R"("b":{"dtype":"F4","shape":[2,2],"data_offsets":[3,5]},)"
      R"("c":{"dtype":"F1_NEXT","shape":[9],"data_offsets":[5,7]},"__metadata__":{"k":"v"}})",
      7);
  const auto tensors = parse_safetensors(bytes_of(file), "x");
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  ASSERT_EQ(tensors->size(), 3U);
  for (const StoredTensor& tensor : *tensors) {
    EXPECT_FALSE(tensor.dtype.has_value());
  }
  EXPECT_EQ((*tensors)[2].dtype_name, "F1_NEXT");
}

TEST(Safetensors, AcceptsEmptyTensorsAndScalars) {
  const std::string file =
      safetensors_file(R"({"none":{"dtype":"F32","shape":[0,5],"data_offsets":[0,0]},)"
                       R"("one":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                       R"("end":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}}   )",
                       4);
  const auto tensors = parse_safetensors(bytes_of(file), "x");
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  EXPECT_EQ(tensors->size(), 3U);
  EXPECT_TRUE(parse_safetensors(bytes_of(safetensors_file("{}", 0)), "x").ok());
}

struct BrokenHeader {
  std::string_view header;
  std::size_t data_bytes;
  std::string_view expected;
};

TEST(Safetensors, RefusesBrokenHeadersNamingFileAndTensor) {
  const BrokenHeader cases[] = {
      {R"([])", 0, "no JSON object"},
      {R"({"a":)", 0, "not valid JSON"},
      {R"({"a":[[[[[1]]]]]})", 0, "nested deeper"},
      {R"({"a":5})", 0, "tensor 'a' has no dtype"},
      {R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4, "tensor 'a' has no dtype"},
      {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, "tensor 'a' has no shape"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", 4, "tensor 'a' has no data_offsets"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 4, "has no data_offsets"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "no count: '-1'"},
      {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4, "no count: '1.0'"},
      {R"({"a":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}})", 4, "no count"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "no range"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})", 4, "no range"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]}})", 4,
       "ends at 4"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4, "tensor 'a' lies at"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "holds 4 bytes"},
      {R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1, "no whole number of bytes"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
       "overflows"},
      {R"({"a":{"dtype":"F64","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0,
       "holds 0 bytes"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
       R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
       12, "tensor 'b' overlaps tensor 'a'"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
       12, "tensor 'b' begins at byte 8"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5, "tensors end at byte 4"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
       R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       4, "names \"a\" twice"},
      {R"({"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", 4,
       "names \"shape\" twice"},
      {R"({"__metadata__":{"a":1}})", 0, "__metadata__"},
      {R"({"__metadata__":"a"})", 0, "__metadata__"},
  };
  for (const BrokenHeader& broken : cases) {
    const auto tensors =
        parse_safetensors(bytes_of(safetensors_file(broken.header, broken.data_bytes)), "file.st");
    ASSERT_FALSE(tensors.ok()) << broken.header;
    EXPECT_NE(tensors.status().message().find(broken.expected), std::string::npos)
        << broken.header << " gave " << tensors.status().message();
    EXPECT_NE(tensors.status().message().find("file.st"), std::string::npos);
  }
}

TEST(Safetensors, RefusesWrongLengths) {
  std::string huge;
  test::append_number<std::uint64_t>(huge, ~std::uint64_t{0});
  for (const std::string& file : {std::string(), std::string("1234567"), huge, huge + "{}"}) {
    EXPECT_FALSE(parse_safetensors(bytes_of(file), "x").ok());
  }
  const auto status = parse_safetensors(bytes_of(huge), "x").status();
  EXPECT_NE(status.message().find("only 0 follow"), std::string::npos) << status.message();
}

TEST(Safetensors, RefusesEveryTruncation) {
  const std::string whole = test::read_text(test::test_data() / "models/qwen2/golden.safetensors");
  for (std::size_t part = 0; part < 16; ++part) {
    const std::string cut = whole.substr(0, whole.size() * part / 16);
    const auto tensors = parse_safetensors(bytes_of(cut), "cut.safetensors");
    ASSERT_FALSE(tensors.ok());
    EXPECT_NE(tensors.status().message().find("cut.safetensors"), std::string::npos);
  }
  EXPECT_TRUE(parse_safetensors(bytes_of(whole), "whole").ok());
  EXPECT_FALSE(parse_safetensors(bytes_of(whole + "x"), "longer").ok());
}

TEST(Safetensors, NamesInMessagesAreCutAndCleaned) {
  EXPECT_EQ(shown_name("a\nb"), "'a?b'");
  EXPECT_EQ(shown_name(std::string(500, 'x')), "'" + std::string(120, 'x') + "...'");
}

TEST(Safetensors, RefusesAHeaderOfMillionsOfValues) {
  std::string header = R"({"a":[0)";
  for (int i = 0; i < 2'000'000; ++i) {
    header += ",0";
  }
  header += "]}";
  const auto tensors = parse_safetensors(bytes_of(safetensors_file(header, 0)), "file");
  ASSERT_FALSE(tensors.ok());
  EXPECT_NE(tensors.status().message().find("more than 2000000 values"), std::string::npos);
}

}  // namespace
}  // namespace godwit
