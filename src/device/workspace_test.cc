#include "device/workspace.h"

#include <gtest/gtest.h>

#include "device/device.h"

namespace godwit {
namespace {

class WorkspaceTest : public testing::Test {
 protected:
  std::byte* take(std::size_t bytes) {
    return static_cast<std::byte*>(std::move(workspace_.take(bytes)).value());
  }

  std::unique_ptr<Device> device_ =
      std::move(create_device("cpu", {.threads = 1, .isa = {}})).value();
  Workspace workspace_{*device_};
};

TEST_F(WorkspaceTest, PiecesAreAlignedAndDoNotOverlap) {
  std::byte* first = take(1);
  std::byte* second = take(65);
  std::byte* third = take(0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
  EXPECT_EQ(second - first, 64);
  EXPECT_EQ(third - second, 128);
}

TEST_F(WorkspaceTest, AScopeGivesBackWhatWasTakenInIt) {
  std::byte* outer = take(100);
  std::byte* inner = nullptr;
  {
    const Workspace::Scope scope(workspace_);
    inner = take(100);
    take(std::size_t{5} << 20U);  // Needs a chunk of its own.
  }
  EXPECT_EQ(take(100), inner);
  EXPECT_NE(inner, outer);
}

TEST_F(WorkspaceTest, ASteadyStateAllocatesNothing) {
  const auto step = [&] {
    const Workspace::Scope scope(workspace_);
    for (const std::size_t bytes :
         {std::size_t{700'000}, std::size_t{900'000}, std::size_t{3} << 20U}) {
      take(bytes);
    }
  };
  step();
  step();
  const std::size_t capacity = workspace_.capacity();
  for (int i = 0; i < 10; ++i) {
    step();
  }
  EXPECT_EQ(workspace_.capacity(), capacity);
}

TEST_F(WorkspaceTest, WhatTheDeviceLacksIsAnErrorAndLeavesTheRestUsable) {
  std::byte* first = take(64);
  const Result<void*> huge = workspace_.take(std::size_t{1} << 60U);
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(take(64), first);
}

}  // namespace
}  // namespace godwit
