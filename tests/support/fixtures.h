#pragma once
// Where tests find golden data: tests/data in the tree, and ../shared/fixtures beside the tree,
// which a fresh clone does not have (tests over it are skipped then).

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace godwit::test {

/// tests/data of this checkout.
std::filesystem::path test_data();

/// ../shared/fixtures, when it is there.
std::optional<std::filesystem::path> shared_fixtures();

/// The model fixture of this name, of tests/data or else of ../shared/fixtures; nothing when
/// neither has it.
std::optional<std::filesystem::path> model_fixture(const std::string& name);

/// Reads a file whole, unpacking it when its name ends in .gz. CHECKs that it can be read.
std::string read_text(const std::filesystem::path& path);

/// Reads a file of one JSON value per line, .gz or not.
std::vector<Json> read_json_lines(const std::filesystem::path& path);

}  // namespace godwit::test
