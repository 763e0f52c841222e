// Kernels on several residual streams against the formulas, in double precision.

#include <algorithm>
#include <cmath>

#include "kernels/kernel_rig.h"

namespace godwit {
namespace {

constexpr double kTolerance = 2e-6;

std::vector<std::string> every_table() {
  std::vector<std::string> names = fast_tables();
  names.emplace_back("ref");
  return names;
}

double at(const std::vector<float>& numbers, std::int64_t i) {
  return static_cast<double>(numbers[static_cast<std::size_t>(i)]);
}

void expect_close(const std::vector<float>& got, const std::vector<double>& expected,
                  const std::string& isa) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), expected[i],
                kTolerance * (4.0 + std::fabs(expected[i])))
        << isa << " " << i;
  }
}

TEST(Streams, Mix) {
  constexpr std::int64_t kStreams = 3;
  constexpr std::int64_t kTokens = 5;
  for (const std::string& isa : every_table()) {
    KernelRig rig(isa, 2);
    for (const std::int64_t width : {1, 16, 37, 64}) {
      RandomData random(static_cast<std::uint32_t>(width));
      std::vector<float> x = random.numbers(kStreams * kTokens * width);
      std::vector<float> mix = random.numbers(kTokens * kStreams * kStreams);
      std::vector<float> y = random.numbers(kTokens * width);
      std::vector<float> gain = random.numbers(kTokens * kStreams);
      for (const int parts : {1, 2, 3}) {  // Which of mix (1) and y with gain (2) are given.
        std::vector<double> expected;
        for (std::int64_t j = 0; j < kStreams; ++j) {
          for (std::int64_t t = 0; t < kTokens; ++t) {
            for (std::int64_t c = 0; c < width; ++c) {
              const auto stream = [&](std::int64_t i) {
                return at(x, (i * kTokens + t) * width + c);
              };
              double sum = (parts & 1) != 0 ? 0.0 : stream(j);
              for (std::int64_t i = 0; (parts & 1) != 0 && i < kStreams; ++i) {
                sum += at(mix, (t * kStreams + j) * kStreams + i) * stream(i);
              }
              sum += (parts & 2) != 0 ? at(gain, t * kStreams + j) * at(y, t * width + c) : 0.0;
              expected.push_back(sum);
            }
          }
        }
        std::vector<float> out(x.size(), 7.0F);
        MixStreamsParams params{.x = view(x, DType::kF32, {kStreams, kTokens, width}),
                                .out = view(out, DType::kF32, {kStreams, kTokens, width})};
        if ((parts & 1) != 0) {
          params.mix = view(mix, DType::kF32, {kTokens, kStreams * kStreams});
        }
        if ((parts & 2) != 0) {
          params.y = view(y, DType::kF32, {kTokens, width});
          params.gain = view(gain, DType::kF32, {kTokens, kStreams});
        }
        rig.run(&KernelTable::mix_streams, params);
        expect_close(out, expected, isa);
      }
    }
  }
}

double mean_of(const std::vector<float>& x, std::int64_t row, std::int64_t width, double centre,
               int power) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < width; ++i) {
    sum += std::pow(at(x, row * width + i) - centre, power);
  }
  return sum / static_cast<double>(width);
}

TEST(Streams, MatchSizeAndScaleChannelsAndKeepLargest) {
  constexpr std::int64_t kRows = 4;
  for (const std::string& isa : every_table()) {
    KernelRig rig(isa, 2);
    for (const std::int64_t width : {1, 16, 37, 64}) {
      RandomData random(static_cast<std::uint32_t>(width));
      std::vector<float> x = random.numbers(kRows * width);
      std::fill_n(x.begin(), width, 1e-4F);  // A row below the minimum.
      std::vector<float> target = random.numbers(kRows * width);
      std::vector<float> factors = random.numbers(width);
      std::vector<double> matched;
      std::vector<double> scaled;
      std::vector<double> kept;
      for (std::int64_t r = 0; r < kRows; ++r) {
        const double own = std::max(mean_of(x, r, width, 0.0, 2), 1e-5F * 1.0);
        const double mean = mean_of(x, r, width, 0.0, 1);
        const double cut = mean + 0.25 * std::sqrt(mean_of(x, r, width, mean, 2));
        for (std::int64_t i = r * width; i < (r + 1) * width; ++i) {
          matched.push_back(at(x, i) * std::sqrt(mean_of(target, r, width, 0.0, 2) / own));
          scaled.push_back(at(x, i) * at(factors, i - r * width));
          kept.push_back(std::max(at(x, i) - cut, 0.0));
        }
      }
      std::vector<float> out(x.size(), 7.0F);
      const Tensor in = view(x, DType::kF32, {kRows, width});
      const Tensor to = view(out, DType::kF32, {kRows, width});
      rig.run(&KernelTable::match_size, {.x = in,
                                         .target = view(target, DType::kF32, {kRows, width}),
                                         .out = to,
                                         .minimum = 1e-5F});
      expect_close(out, matched, isa);
      rig.run(&KernelTable::scale_channels,
              {.x = in, .factors = view(factors, DType::kF32, {width}), .out = to});
      expect_close(out, scaled, isa);
      rig.run(&KernelTable::keep_largest, {.x = in, .out = to, .deviations = 0.25F});
      expect_close(out, kept, isa);
    }
  }
}

}  // namespace
}  // namespace godwit
