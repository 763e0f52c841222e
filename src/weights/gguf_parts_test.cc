#include "weights/gguf_parts.h"

#include <gtest/gtest.h>

#include "weights/checkpoint.h"
#include "weights/test_files.h"

namespace godwit {
namespace {

/// A part with one tensor of this name.
std::string part(std::uint16_t number, std::uint16_t count, std::string_view tensor,
                 std::int32_t tensors = 2) {
  constexpr std::uint32_t kUint16 = 2;
  constexpr std::uint32_t kInt32 = 5;
  test::GgufBuilder builder(1, 3);
  builder.string("split.no").number(kUint16).number(number);
  builder.string("split.count").number(kUint16).number(count);
  builder.string("split.tensors.count").number(kInt32).number(tensors);
  builder.tensor(tensor, {1}, 0, 0);
  return builder.data(32);
}

class GgufPartsTest : public testing::Test {
 protected:
  std::string error_of(std::string_view name) {
    const auto parts = open_gguf_parts(folder_.path() / name);
    EXPECT_FALSE(parts.ok());
    return parts.ok() ? std::string() : parts.status().message();
  }
  void expect_error(std::string_view name, std::string_view text) {
    const std::string error = error_of(name);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  }

  test::TemporaryFolder folder_;
};

TEST_F(GgufPartsTest, TensorsOfAllPartsAreFound) {
  folder_.write("m-00001-of-00002.gguf", part(0, 2, "a"));
  folder_.write("m-00002-of-00002.gguf", part(1, 2, "b"));
  const auto checkpoint = Checkpoint::open(folder_.path() / "m-00001-of-00002.gguf");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->tensors().size(), 2U);
  EXPECT_NE(checkpoint->gguf()->find("b"), nullptr);
  EXPECT_EQ(checkpoint->file_of(*checkpoint->find("b")),
            (folder_.path() / "m-00002-of-00002.gguf").string());
}

TEST_F(GgufPartsTest, AFileThatSaysToBeTheOnlyPartIsOne) {
  folder_.write("m.gguf", part(0, 1, "a", 1));
  EXPECT_TRUE(open_gguf_parts(folder_.path() / "m.gguf").ok());
}

TEST_F(GgufPartsTest, NamesWhatIsWrong) {
  folder_.write("m-00001-of-00002.gguf", part(0, 2, "a"));
  expect_error("m-00001-of-00002.gguf", "m-00002-of-00002.gguf is missing");
  folder_.write("m-00002-of-00002.gguf", part(1, 2, "b", 3));
  expect_error("m-00002-of-00002.gguf", "give the first: ");
  folder_.write("m-00002-of-00002.gguf", part(0, 2, "b"));
  expect_error("m-00001-of-00002.gguf", "is not part 2 of 2");
  folder_.write("m-00001-of-00002.gguf", part(0, 2, "a", 3));
  folder_.write("m-00002-of-00002.gguf", part(1, 2, "b", 3));
  expect_error("m-00001-of-00002.gguf", "split.tensors.count is 3, but the parts hold 2");
  folder_.write("m.gguf", part(0, 2, "a"));
  expect_error("m.gguf", "-00001-of-00002.gguf");
  folder_.write("m.gguf", part(2, 2, "a"));
  expect_error("m.gguf", "split.no is 2");
}

TEST_F(GgufPartsTest, ATensorInTwoPartsIsRefused) {
  folder_.write("m-00001-of-00002.gguf", part(0, 2, "a"));
  folder_.write("m-00002-of-00002.gguf", part(1, 2, "a"));
  const auto checkpoint = Checkpoint::open(folder_.path() / "m-00001-of-00002.gguf");
  ASSERT_FALSE(checkpoint.ok());
  EXPECT_NE(checkpoint.status().message().find("is both in"), std::string::npos);
}

}  // namespace
}  // namespace godwit
