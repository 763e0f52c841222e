#pragma once
// Compares a model with what llama.cpp answered on the same file.

#include <filesystem>
#include <string>

#include "runner/testing/model_harness.h"

namespace godwit::test {

/// Expects the recorded log probabilities within `tolerance`, and the greedy ids where the margin
/// makes the choice certain. `recorded` is a llama_cpp.json of tools/make_gguf_families.py and
/// `file` an entry of it.
void expect_llama_cpp(ModelHarness& model, const std::filesystem::path& recorded,
                      const std::string& file, double tolerance);

}  // namespace godwit::test
