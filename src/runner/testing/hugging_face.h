#pragma once
// Compares a model with what Hugging Face's code gave for a fixture.

#include <filesystem>

#include "runner/testing/model_harness.h"

namespace godwit::test {

/// Expects the logits, the log probabilities and the greedy tokens of `fixture`'s golden.json and
/// golden.safetensors, within the tolerance of the fixtures. Call with ASSERT_NO_FATAL_FAILURE
/// where more follows.
void expect_hugging_face(ModelHarness& model, const std::filesystem::path& fixture);

}  // namespace godwit::test
