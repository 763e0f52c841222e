#include "base/mapped_file.h"

#include <sys/stat.h>

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

}  // namespace
}  // namespace godwit
