#pragma once
// Checks tokenizers against the rows of the golden files (the README of the fixtures describes
// them).

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "text/tokenizer.h"

namespace godwit::test {

std::vector<TokenId> ids_of(const Json& row, std::string_view key);
std::string text_of(const Json& row, std::string_view key);

/// Counts the rows that pass and reports the first few that do not.
class Score {
 public:
  /// An empty `failure` is a pass.
  void add(const std::string& kind, const std::string& failure);
  /// Prints the counts and fails the test unless every row passed.
  void print(const std::string& name) const;

 private:
  struct Count {
    int passed = 0;
    int total = 0;
  };
  std::map<std::string, Count> counts_;
  int reported_ = 0;
};

/// What is different, or nothing.
std::string compare(const std::string& what, const std::vector<TokenId>& got,
                    const std::vector<TokenId>& expected);
std::string compare(const std::string& what, const std::string& got, const std::string& expected);

/// A row of ids and their tokens.
std::string check_vocab(const Tokenizer& tokenizer, const Json& row);

/// What the corpus has for texts of ill-formed bytes: those, or U+FFFD in their place.
enum class CorpusBytes { kRaw, kReplaced };
/// The corpus by id.
std::map<std::string, std::string> read_corpus(const std::filesystem::path& folder,
                                               CorpusBytes bytes);

/// Checks every row of `folder`/`name`/`file`.
void check_golden(const Tokenizer& tokenizer, const std::filesystem::path& folder,
                  const std::string& name, const std::string& file);

/// A test's name from a parameter that is a folder's.
std::string file_test_name(const testing::TestParamInfo<std::string>& info);

}  // namespace godwit::test
