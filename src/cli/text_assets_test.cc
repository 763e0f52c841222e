#include "cli/text_assets.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "support/fixtures.h"
#include "weights/test_files.h"

namespace godwit {
namespace {

/// The metadata of a GGUF file are parsed once: all that is asked of it after that comes from
/// there.
TEST(TextAssetsTest, AGgufFileIsOpenedOnce) {
  const test::TemporaryFolder folder;
  const auto path =
      folder.write("model.gguf", test::read_text(test::test_data() / "gguf" / "llama-q8_0.gguf"));
  Result<ModelFiles> files = open_model(path);
  ASSERT_TRUE(files.ok()) << files.status().message();
  std::filesystem::remove(path);
  const Result<TextAssets> assets = load_text_assets(*files, ModelOptions());
  ASSERT_TRUE(assets.ok()) << assets.status().message();
  ASSERT_NE(assets->tokenizer, nullptr);
  const auto ids = assets->tokenizer->encode("Hello, world", {.add_special_tokens = false});
  EXPECT_EQ(assets->tokenizer->decode(ids, true), "Hello, world");
}

TEST(TextAssetsTest, AnotherTokenizerIsReadFromItsOwnFile) {
  const test::TemporaryFolder folder;
  const auto path =
      folder.write("model.gguf", test::read_text(test::test_data() / "gguf" / "llama-q8_0.gguf"));
  Result<ModelFiles> files = open_model(test::test_data() / "models" / "tiny-dense");
  ASSERT_TRUE(files.ok()) << files.status().message();
  ModelOptions options;
  options.tokenizer = path.string();
  const Result<TextAssets> assets = load_text_assets(*files, options);
  ASSERT_TRUE(assets.ok()) << assets.status().message();
  ASSERT_NE(assets->tokenizer, nullptr);
  options.tokenizer = (folder.path() / "absent.gguf").string();
  EXPECT_FALSE(load_text_assets(*files, options).ok());
}

}  // namespace
}  // namespace godwit
