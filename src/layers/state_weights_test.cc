// Small weights of recurrent layers that are no numbers are refused by name.

#include "layers/state_weights.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "device/device.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;

/// A copy of Bamba's fixture, in which the first number of a bf16 tensor is another.
class Damaged {
 public:
  Damaged(const std::string& name, std::uint16_t bits)
      : path_(fs::path(testing::TempDir()) / "godwit_state_weights") {
    fs::remove_all(path_);
    fs::create_directories(path_);
    std::string file = test::read_text(test::test_data() / "models/bamba/model.safetensors");
    std::uint64_t header_size = 0;
    std::memcpy(&header_size, file.data(), sizeof(header_size));
    const Json header = parse_json(file.substr(8, header_size), "header").value();
    const std::int64_t begin = *header.find(name)->find("data_offsets")->as_array()[0].to_int64();
    std::memcpy(file.data() + 8 + header_size + static_cast<std::size_t>(begin), &bits,
                sizeof(bits));
    std::ofstream(path_ / "model.safetensors", std::ios::binary) << file;
  }
  ~Damaged() { fs::remove_all(path_); }
  Damaged(const Damaged&) = delete;
  Damaged& operator=(const Damaged&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

constexpr const char* kRates = "model.layers.0.mamba.A_log";
constexpr const char* kBias = "model.layers.0.mamba.dt_bias";

std::string error_of(const fs::path& path, const std::string& name) {
  const auto device = create_device("cpu", {.threads = 1, .isa = ""}).value();
  const auto stream = device->create_stream().value();
  const Checkpoint checkpoint = std::move(Checkpoint::open(path)).value();
  WeightsReader reader(checkpoint, *device, *stream);
  const auto numbers =
      name == kRates ? read_rates(reader, name, {8}) : read_finite(reader, name, {8});
  return numbers.ok() ? "" : numbers.status().message();
}

TEST(StateWeightsTest, NotANumberIsRefusedByName) {
  constexpr std::uint16_t kNan = 0x7fc0;
  constexpr std::uint16_t kInfinity = 0x7f80;
  constexpr std::uint16_t kThousand = 0x447a;  // exp(1000) is infinite.
  EXPECT_EQ(error_of(test::test_data() / "models/bamba", kRates), "");
  for (const std::uint16_t bits : {kNan, kInfinity, kThousand}) {
    EXPECT_NE(error_of(Damaged(kRates, bits).path(), kRates).find(kRates), std::string::npos);
  }
  for (const std::uint16_t bits : {kNan, kInfinity}) {
    EXPECT_NE(error_of(Damaged(kBias, bits).path(), kBias).find(kBias), std::string::npos);
  }
  EXPECT_EQ(error_of(Damaged(kBias, kThousand).path(), kBias), "");
}

TEST(StateWeightsTest, RatesAreNegativeExponentials) {
  const auto device = create_device("cpu", {.threads = 1, .isa = ""}).value();
  const auto stream = device->create_stream().value();
  const Checkpoint checkpoint =
      std::move(Checkpoint::open(test::test_data() / "models/bamba")).value();
  WeightsReader reader(checkpoint, *device, *stream);
  const std::vector<float> logs = read_finite(reader, kRates, {8}).value();
  const std::vector<float> rates = read_rates(reader, kRates, {8}).value();
  for (std::size_t i = 0; i < logs.size(); ++i) {
    EXPECT_FLOAT_EQ(rates[i], -std::exp(logs[i]));
  }
}

}  // namespace
}  // namespace godwit
