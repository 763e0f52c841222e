#include "base/mapped_file.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace godwit {
namespace {

TEST(MappedFileTest, APipeIsRefusedAtOnce) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "godwit_pipe";
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const Result<MappedFile> file = MappedFile::open(path);
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.status().message().find("is not a regular file"), std::string::npos);
  std::filesystem::remove(path);
}

TEST(MappedFileTest, WhatIsMissingIsNotFound) {
  const Result<MappedFile> file = MappedFile::open("/nowhere/at/all");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::kNotFound);
}

TEST(MappedFileTest, ReleasedPagesAreNoLongerResidentAndCanBeReadAgain) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "godwit_pages";
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::ofstream(path, std::ios::binary) << std::string(64 * page, 'x');
  const MappedFile file = MappedFile::open(path).value();
  const auto resident = [] {
    std::size_t total = 0;
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> total >> pages;
    return pages;
  };
  const auto read_all = [&] {
    return std::count(file.bytes().begin(), file.bytes().end(), std::byte{'x'});
  };
  EXPECT_EQ(read_all(), std::ssize(file.bytes()));
  const std::size_t before = resident();
  release_pages(file.bytes().subspan(1));  // All but the first page.
  EXPECT_LE(resident() + 50, before);
  release_pages(file.bytes().subspan(1, 5));  // No whole page.
  EXPECT_EQ(read_all(), std::ssize(file.bytes()));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace godwit
