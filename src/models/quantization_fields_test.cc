#include "models/quantization_fields.h"

#include <gtest/gtest.h>

namespace godwit {
namespace {

Result<Quantization> read(const std::string& scheme) {
  const Json config = parse_json("{\"quantization_config\":" + scheme + "}", "test").value();
  return read_quantization(ConfigReader(config, "config.json"));
}

TEST(QuantizationFields, SchemesThatAreRead) {
  EXPECT_EQ(read_quantization(ConfigReader(Json(JsonObject{}), "config.json"))->method,
            QuantMethod::kNone);
  const auto fp8 = read(R"({"quant_method":"fp8","activation_scheme":"dynamic","fmt":"e4m3",
                            "weight_block_size":[64,128]})");
  ASSERT_TRUE(fp8.ok()) << fp8.status().message();
  EXPECT_EQ(fp8->method, QuantMethod::kFp8);
  EXPECT_EQ(fp8->block_rows, 64);
  EXPECT_EQ(fp8->block_columns, 128);
  EXPECT_EQ(read(R"({"quant_method":"gptq","bits":4,"group_size":-1})")->group_size, 0);
  EXPECT_EQ(read(R"({"quant_method":"awq","bits":4,"group_size":64})")->group_size, 64);
  EXPECT_EQ(read(R"({"quant_method":"mxfp4"})")->method, QuantMethod::kMxfp4);
}

TEST(QuantizationFields, WhatIsLackingIsNamed) {
  const struct {
    const char* scheme;
    const char* named;
  } kCases[] = {
      {"7", "quantization_config"},
      {R"({"bits":4})", "quant_method"},
      {R"({"quant_method":"bitsandbytes"})", "bitsandbytes"},
      {R"({"quant_method":"modelopt"})", "modelopt"},
      {R"({"quant_method":"gptq","bits":3,"group_size":64})", "bits is 3"},
      {R"({"quant_method":"gptq","bits":4})", "group_size"},
      {R"({"quant_method":"gptq","bits":4,"group_size":0})", "group_size"},
      {R"({"quant_method":"gptq","bits":4,"group_size":-2})", "group_size"},
      {R"({"quant_method":"gptq","bits":4,"group_size":48})", "group_size is 48"},
      {R"({"quant_method":"gptq","bits":4,"group_size":32,"checkpoint_format":"gptq_v2"})",
       "gptq_v2"},
      {R"({"quant_method":"gptq","bits":4,"group_size":32,"lm_head":true})", "lm_head"},
      {R"({"quant_method":"gptq","bits":4,"group_size":32,"dynamic":{"a":{}}})", "dynamic"},
      {R"({"quant_method":"awq","bits":4,"group_size":32,"version":"gemv"})", "gemv"},
      {R"({"quant_method":"awq","bits":4,"group_size":32,"zero_point":false})", "zero_point"},
      {R"({"quant_method":"fp8"})", "weight_block_size"},
      {R"({"quant_method":"fp8","weight_block_size":[128]})", "weight_block_size"},
      {R"({"quant_method":"fp8","weight_block_size":[128,0]})", "weight_block_size"},
      {R"({"quant_method":"fp8","weight_block_size":[128,48]})", "weight_block_size"},
      {R"({"quant_method":"fp8","weight_block_size":[128,128],"activation_scheme":"static"})",
       "static"},
      {R"({"quant_method":"compressed-tensors"})", "config_groups"},
      {R"({"quant_method":"compressed-tensors","format":"pack-quantized"})", "pack-quantized"},
      {R"({"quant_method":"compressed-tensors","config_groups":{"g":{"weights":{"num_bits":4}}}})",
       "num_bits"},
      {R"({"quant_method":"compressed-tensors",
           "config_groups":{"g":{"weights":{"num_bits":8,"strategy":"group"}}}})",
       "group"},
  };
  for (const auto& wrong : kCases) {
    const auto found = read(wrong.scheme);
    ASSERT_FALSE(found.ok()) << wrong.scheme;
    EXPECT_NE(found.status().message().find(wrong.named), std::string::npos)
        << wrong.scheme << ": " << found.status().message();
  }
}

}  // namespace
}  // namespace godwit
