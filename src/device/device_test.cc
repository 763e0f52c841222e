#include "device/device.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/thread_pool.h"

namespace godwit {
namespace {

TEST(DeviceTest, AnUnknownDeviceIsNamedWithTheKnownOnes) {
  const auto device = create_device("abacus", {});
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.status().code(), StatusCode::kNotFound);
  EXPECT_NE(device.status().message().find("abacus"), std::string::npos);
  for (const DeviceKind& kind : device_table()) {
    EXPECT_NE(device.status().message().find(kind.name), std::string::npos);
  }
}

TEST(DeviceTest, WrongOptionsOfTheCpuAreNamed) {
  for (const int threads : {-1, 1025}) {
    const auto device = create_device("cpu", {.threads = threads, .isa = {}});
    ASSERT_FALSE(device.ok());
    EXPECT_NE(device.status().message().find(std::to_string(threads)), std::string::npos);
  }
  const auto device = create_device("cpu", {.threads = 1, .isa = "mmx"});
  ASSERT_FALSE(device.ok());
  EXPECT_NE(device.status().message().find("mmx"), std::string::npos);
}

TEST(DeviceTest, MemoryIsZeroedAndMoreThanThereIsIsAnError) {
  const auto device = std::move(create_device("cpu", {.threads = 1, .isa = {}})).value();
  const Buffer buffer = std::move(device->allocate(4096, MemoryPurpose::kCache)).value();
  std::vector<std::byte> bytes(4096, std::byte{1});
  const auto stream = std::move(device->create_stream()).value();
  ASSERT_TRUE(stream->copy_out(bytes, buffer.data()).ok());
  ASSERT_TRUE(stream->synchronize().ok());
  EXPECT_EQ(bytes, std::vector<std::byte>(4096));
  EXPECT_EQ(std::move(device->allocate(0, MemoryPurpose::kCache)).value().data(), nullptr);
  const auto huge = device->allocate(std::size_t{1} << 62U, MemoryPurpose::kCache);
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.status().code(), StatusCode::kResourceExhausted);
}

TEST(DeviceTest, MoreThreadsThanCoresStillWork) {
  const auto device = std::move(create_device("cpu", {.threads = 67, .isa = {}})).value();
  const auto stream = std::move(device->create_stream()).value();
  auto* threads = static_cast<ThreadPool*>(stream->native());
  ASSERT_EQ(threads->size(), 67);
  std::vector<int> seen(1000);
  threads->for_ranges(1000, 7, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      ++seen[static_cast<std::size_t>(i)];
    }
  });
  EXPECT_EQ(seen, std::vector<int>(1000, 1));
}

}  // namespace
}  // namespace godwit
