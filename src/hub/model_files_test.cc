#include "hub/model_files.h"

#include <gtest/gtest.h>

namespace godwit {
namespace {

using Names = std::vector<std::string>;

TEST(ModelFiles, TextFilesAndNothingElse) {
  const Names files = {"README.md",
                       "config.json",
                       "model.safetensors",
                       "tokenizer.json",
                       "original/tokenizer.model",
                       "onnx/config.json",
                       "chat_template.jinja",
                       "chat_template_tools.jinja",
                       "additional_chat_templates/rag.jinja",
                       "additional_chat_templates/tool_use.jinja",
                       "tokenizer.model",
                       "vocab.json",
                       "merges.txt",
                       "additional_chat_templates/deep/rag.jinja",
                       "qwen.tiktoken",
                       "training_args.bin"};
  EXPECT_EQ(select_text_files(files),
            (Names{"additional_chat_templates/tool_use.jinja", "chat_template.jinja", "config.json",
                   "tokenizer.json"}));
  EXPECT_EQ(select_text_files({"vocab.txt", "tokenizer.model"}), Names{"tokenizer.model"});
}

TEST(ModelFiles, WeightsAreSafetensorsOrTheErrorSaysWhatThereIs) {
  EXPECT_EQ(*select_weights({"model.safetensors", "pytorch_model.bin"}, "a/b"),
            "model.safetensors");
  EXPECT_EQ(*select_weights({"model.safetensors.index.json", "consolidated.safetensors"}, "a/b"),
            "model.safetensors.index.json");
  const auto message = [](const Names& files) {
    return select_weights(files, "a/b").status().message();
  };
  EXPECT_NE(message({"x.gguf"}).find("a/b:FILE.gguf"), std::string::npos);
  EXPECT_NE(message({"pytorch_model.bin"}).find("pytorch_model.bin"), std::string::npos);
  EXPECT_NE(message({"README.md"}).find("no weights"), std::string::npos);
}

TEST(ModelFiles, ShardsAreThoseOfTheIndex) {
  const Result<Names> shards = read_shards(
      R"({"weight_map": {"a": "2.safetensors", "b": "1.safetensors", "c": "2.safetensors"}})",
      "a/b");
  ASSERT_TRUE(shards.ok());
  EXPECT_EQ(*shards, (Names{"1.safetensors", "2.safetensors"}));
  for (const char* hostile :
       {"[]", "{}", R"({"weight_map": {}})", R"({"weight_map": {"a": 1}})",
        R"({"weight_map": {"a": "../1.safetensors"}})",
        R"({"weight_map": {"a": "/1.safetensors"}})", R"({"weight_map": {"a": "x/1.safetensors"}})",
        R"({"weight_map": {"a": "1.bin"}})"}) {
    EXPECT_FALSE(read_shards(hostile, "a/b").ok()) << hostile;
  }
}

TEST(ModelFiles, AQuantisationNamesOneFile) {
  const Names files = {"m-IQ4_XS.gguf", "m-Q4_K_M.gguf",      "m-UD-Q4_K_M.gguf",
                       "m.Q8_0.gguf",   "mmproj-m-Q8_0.gguf", "Q5_K_M/m-Q5_K_M-00001-of-00002.gguf",
                       "a-F16.gguf",    "b-F16.gguf"};
  EXPECT_EQ(*select_gguf(files, "Q4_K_M", "a/b"), Names{"m-Q4_K_M.gguf"});
  EXPECT_EQ(*select_gguf(files, "q8_0", "a/b"), Names{"m.Q8_0.gguf"});
  EXPECT_EQ(*select_gguf(files, "UD-Q4_K_M", "a/b"), Names{"m-UD-Q4_K_M.gguf"});
  EXPECT_EQ(*select_gguf(files, "m-IQ4_XS.gguf", "a/b"), Names{"m-IQ4_XS.gguf"});
  EXPECT_EQ(select_gguf(files, "Q4_K", "a/b").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(select_gguf(files, "Q4_XS", "a/b").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(select_gguf(files, "x.gguf", "a/b").status().code(), StatusCode::kNotFound);
  const Names parts = {"Q5_K_M/m-Q5_K_M-00001-of-00002.gguf",
                       "Q5_K_M/m-Q5_K_M-00002-of-00002.gguf"};
  EXPECT_EQ(*select_gguf(files, "Q5_K_M", "a/b"), parts);
  EXPECT_EQ(*select_gguf(files, parts[0], "a/b"), parts);
  EXPECT_FALSE(select_gguf({"m-00001-of-00000.gguf"}, "m-00001-of-00000.gguf", "a/b").ok());
  EXPECT_FALSE(select_gguf({"m-00001-of-99999.gguf"}, "m-00001-of-99999.gguf", "a/b").ok());
  EXPECT_EQ(select_gguf(files, "F16", "a/b").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace godwit
