#pragma once
// What the tests of kernels share: devices for each table, random data, comparisons. Test code
// only.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "device/device.h"
#include "kernels/cpu/cpu_kernels.h"

namespace godwit {

/// A CPU device with one stream.
struct KernelRig {
  KernelRig(std::string_view isa, int threads) {
    auto made = create_device("cpu", {.threads = threads, .isa = std::string(isa)});
    CHECK(made.ok());
    device = std::move(made).value();
    auto made_stream = device->create_stream();
    CHECK(made_stream.ok());
    stream = std::move(made_stream).value();
  }
  [[nodiscard]] const KernelTable& table() const { return device->kernels(); }

  template <class Params>
  void run(Kernel<Params> KernelTable::* kernel, const Params& params) {
    const Status status = (table().*kernel)(*stream, params);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
};

/// Names of the tables that this processor can run, without the oracle.
inline std::vector<std::string> fast_tables() {
  std::vector<std::string> names;
  for (const CpuKernels& row : cpu_kernels()) {
    if (row.supported && row.isa != "ref") {
      names.emplace_back(row.isa);
    }
  }
  return names;
}

inline constexpr DType kWeightTypes[] = {
    DType::kF32,    DType::kF16,   DType::kBF16,  DType::kQ8_0,  DType::kQ4_0,   DType::kQ4_1,
    DType::kQ5_0,   DType::kQ5_1,  DType::kQ2_K,  DType::kQ3_K,  DType::kQ4_K,   DType::kQ5_K,
    DType::kQ6_K,   DType::kQ8_K,  DType::kI4_32, DType::kI4_64, DType::kI4_128, DType::kI8_32,
    DType::kI8_128, DType::kMxfp4, DType::kF8_32, DType::kF8_128};

/// `count` rounded up to whole blocks.
inline std::int64_t whole_blocks(DType dtype, std::int64_t count) {
  const std::int64_t block = block_elements(dtype);
  return (count + block - 1) / block * block;
}

/// Places of the f16 in a block (Q8_K has an f32, of which this is the upper half), and whether
/// what they scale has further factors.
struct BlockNumbers {
  std::vector<std::size_t> places;
  bool has_factors = false;
  std::size_t header = 0;  ///< Leading bytes that are no codes, where there are others than f16.
};

inline BlockNumbers block_numbers(DType dtype) {
  switch (dtype) {
    case DType::kQ4_1:
    case DType::kQ5_1:
      return {.places = {0, 2}};
    case DType::kQ2_K:
      return {.places = {80, 82}, .has_factors = true};
    case DType::kQ3_K:
      return {.places = {108}, .has_factors = true};
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {.places = {0, 2}, .has_factors = true};
    case DType::kQ6_K:
      return {.places = {208}, .has_factors = true};
    case DType::kQ8_K:
      return {.places = {2}};
    case DType::kI8_32:
    case DType::kI8_128:
    case DType::kF8_32:
    case DType::kF8_128:
      return {.places = {2}, .header = 4};
    case DType::kI4_32:
    case DType::kI4_64:
    case DType::kI4_128:
      return {.places = {0}, .header = 4};
    case DType::kMxfp4:
      return {.places = {}, .header = 1};
    default:
      return {.places = {0}};
  }
}

class RandomData {
 public:
  explicit RandomData(std::uint32_t seed) : engine_(seed) {}

  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  float number() { return normal_(engine_); }
  std::vector<float> numbers(std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) {
      value = number();
    }
    return values;
  }
  /// Finite weights of moderate size, in rows of k.
  std::vector<std::byte> weights(DType dtype, std::int64_t count) {
    std::vector<std::byte> data(storage_bytes(dtype, count).value());
    for (std::byte& byte : data) {
      byte = static_cast<std::byte>(integer(0, 255));
    }
    if (dtype == DType::kF32) {
      const std::vector<float> values = numbers(count);
      std::memcpy(data.data(), values.data(), data.size());
    } else if (dtype == DType::kBF16) {
      put_words(data, 2, 0, 0x3c00, 0x0700);
    } else {
      const std::size_t step = dtype == DType::kF16 ? 2 : block_bytes(dtype);
      const BlockNumbers numbers = block_numbers(dtype);
      for (const std::size_t place : numbers.places) {
        const bool is_float = place == 2 && numbers.places.size() == 1;
        put_words(data, step, place,
                  is_float              ? 0x3c00
                  : numbers.has_factors ? 0x1000
                                        : 0x2000,
                  is_float ? 0x0200 : 0x1000);
      }
      limit_packed(dtype, data);
    }
    return data;
  }

 private:
  /// Zero points of 0 to 16, exponents about that of 1, no codes that are NaN.
  void limit_packed(DType dtype, std::vector<std::byte>& data) {
    const std::size_t step = block_bytes(dtype);
    const bool is_i4 = dtype >= DType::kI4_32 && dtype <= DType::kI4_128;
    for (std::size_t block = 0; block < data.size() && (is_i4 || dtype == DType::kMxfp4);
         block += step) {
      data[block + (is_i4 ? 2 : 0)] =
          static_cast<std::byte>(is_i4 ? integer(0, 16) : integer(120, 130));
    }
    for (std::size_t i = 0; i < data.size() && dtype >= DType::kF8_32; ++i) {
      if (i % step >= 4 && (data[i] & std::byte{127}) == std::byte{127}) {
        data[i] ^= std::byte{1};
      }
    }
  }
  /// Writes 16-bit floats of random sign and mantissa, exponents from `base` over `span`.
  void put_words(std::vector<std::byte>& data, std::size_t step, std::size_t offset, int base,
                 int span) {
    for (std::size_t i = offset; i + 2 <= data.size(); i += step) {
      const auto word =
          static_cast<std::uint16_t>((base + integer(0, span)) | (integer(0, 1) << 15));
      std::memcpy(data.data() + i, &word, sizeof(word));
    }
  }

  std::mt19937 engine_;
  std::normal_distribution<float> normal_;
};

template <class T>
Tensor view(std::vector<T>& data, DType dtype, std::initializer_list<std::int64_t> shape) {
  return Tensor::contiguous(data.data(), dtype, shape);
}

inline ::testing::AssertionResult same_bits(const std::vector<float>& a,
                                            const std::vector<float>& b) {
  if (a.size() != b.size()) {
    return ::testing::AssertionFailure() << a.size() << " against " << b.size() << " elements";
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) {
      return ::testing::AssertionFailure() << "element " << i << ": " << a[i] << " and " << b[i];
    }
  }
  return ::testing::AssertionSuccess();
}

/// |a - b| <= tolerance * max(1, |b|) everywhere; NaN equals NaN and infinities themselves.
inline ::testing::AssertionResult close(const std::vector<float>& a, const std::vector<float>& b,
                                        double tolerance) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i]) ? std::isnan(a[i]) : a[i] == b[i]) {
      continue;
    }
    const auto expected = static_cast<double>(b[i]);
    const double limit = tolerance * std::max(1.0, std::fabs(expected));
    if (!(std::fabs(static_cast<double>(a[i]) - expected) <= limit)) {
      return ::testing::AssertionFailure() << "element " << i << ": " << a[i] << " and " << b[i];
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace godwit
