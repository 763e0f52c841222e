#include "weights/name_map.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

TEST(NameMap, EqualsTheTablesOfTheReferencePackage) {
  const auto reference =
      parse_json(test::read_text(test::test_data() / "weights" / "names.json"), "names.json");
  ASSERT_TRUE(reference.ok());
  EXPECT_EQ(reference->as_object().size(), 47U);
  for (const auto& [name, expected] : reference->as_object()) {
    EXPECT_EQ(gguf_tensor_name(name, "llama"), expected.as_string());
  }
}

/// How many architectures the file of this folder of tests/data is about, all names compared.
std::size_t compare_architectures(const char* folder) {
  const auto reference =
      parse_json(test::read_text(test::test_data() / folder / "names.json"), "names.json");
  EXPECT_TRUE(reference.ok());
  for (const auto& [architecture, names] : reference->as_object()) {
    EXPECT_GE(names.as_object().size(), 20U) << architecture;
    for (const auto& [name, expected] : names.as_object()) {
      EXPECT_EQ(gguf_tensor_name(name, architecture), expected.as_string()) << architecture;
    }
  }
  return reference->as_object().size();
}

TEST(NameMap, EqualsTheTableOfEachArchitecture) {
  EXPECT_EQ(compare_architectures("gguf_families"), 11U);
  EXPECT_EQ(compare_architectures("gguf_gpt"), 6U);
}

TEST(NameMap, LeavesOtherNamesAlone) {
  for (const char* name : {"rope_freqs.weight", "model.layers..mlp.up_proj.weight",
                           "model.layers.3", "model.layers.3x.mlp.up_proj.weight", "weight", "",
                           "model.layers.1.mlp.other.weight", "model.layers.12"}) {
    EXPECT_EQ(gguf_tensor_name(name, "gemma2"), name);
  }
}

}  // namespace
}  // namespace godwit
