// The causal convolution against its formula in double precision, whatever the steps and saves.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/kernel_rig.h"
#include "kernels/state_rig.h"

namespace godwit {
namespace {

constexpr double kTolerance = 2e-6;

std::vector<float> rows_of(const std::vector<float>& x, std::int64_t begin, std::int64_t end,
                           std::int64_t channels) {
  return {x.begin() + begin * channels, x.begin() + end * channels};
}

/// A sequence's inputs, gates and weights, and what comes of them.
struct Convolution {
  Convolution(std::int64_t num_tokens, std::int64_t num_channels, std::int64_t num_taps, bool all)
      : tokens(num_tokens), channels(num_channels), taps(num_taps), gated(all), biased(all) {
    RandomData random(static_cast<std::uint32_t>(channels * 8 + taps));
    x = random.numbers(tokens * channels);
    gate_in = random.numbers(tokens * channels);
    gate_out = random.numbers(tokens * channels);
    weight = random.numbers(channels * taps);
    bias = random.numbers(channels);
  }

  [[nodiscard]] double input(std::int64_t t, std::int64_t c) const {
    const auto i = static_cast<std::size_t>(t * channels + c);
    return t < 0 ? 0.0
                 : static_cast<double>(x[i]) * (gated ? static_cast<double>(gate_in[i]) : 1.0);
  }
  [[nodiscard]] double output(std::int64_t t, std::int64_t c) const {
    double sum = biased ? static_cast<double>(bias[static_cast<std::size_t>(c)]) : 0.0;
    for (std::int64_t i = 0; i < taps; ++i) {
      sum += static_cast<double>(weight[static_cast<std::size_t>(c * taps + i)]) *
             input(t - taps + 1 + i, c);
    }
    const auto i = static_cast<std::size_t>(t * channels + c);
    return gated ? sum * static_cast<double>(gate_out[i]) : sum;
  }

  /// Runs tokens [share.begin, share.end) and returns their outputs.
  std::vector<float> run(KernelRig& rig, const Share& share, States& states) {
    Step step({share});
    const std::int64_t count = share.end - share.begin;
    std::vector<float> in = rows_of(x, share.begin, share.end, channels);
    std::vector<float> before = rows_of(gate_in, share.begin, share.end, channels);
    std::vector<float> after = rows_of(gate_out, share.begin, share.end, channels);
    std::vector<float> out(in.size(), std::numeric_limits<float>::quiet_NaN());
    CausalConvParams params{.x = view(in, DType::kF32, {count, channels}),
                            .weight = view(weight, DType::kF32, {channels, taps}),
                            .query_start = Step::list(step.query_start),
                            .states = states.conv(channels, taps - 1),
                            .tables = step.tables(),
                            .out = view(out, DType::kF32, {count, channels})};
    if (gated) {
      params.gate_in = view(before, DType::kF32, {count, channels});
      params.gate_out = view(after, DType::kF32, {count, channels});
    }
    if (biased) {
      params.bias = view(bias, DType::kF32, {channels});
    }
    rig.run(&KernelTable::causal_conv, params);
    return out;
  }

  std::int64_t tokens;
  std::int64_t channels;
  std::int64_t taps;
  bool gated;
  bool biased;
  std::vector<float> x;
  std::vector<float> gate_in;
  std::vector<float> gate_out;
  std::vector<float> weight;
  std::vector<float> bias;
};

TEST(CausalConv, IsItsFormula) {
  std::vector<std::string> tables = fast_tables();
  tables.emplace_back("ref");
  for (const std::string& isa : tables) {
    for (const int threads : {1, 3}) {
      KernelRig rig(isa, threads);
      for (const std::int64_t channels : {1, 63, 64, 200}) {
        for (const std::int64_t taps : {2, 3, 4, 7}) {
          Convolution conv(50, channels, taps, taps % 2 == 0);
          States states(channels * (taps - 1), 1);
          const std::vector<float> out =
              conv.run(rig, {.begin = 0, .end = 50, .saves = {{50, states.place(0)}}}, states);
          for (std::int64_t t = 0; t < 50; ++t) {
            for (std::int64_t c = 0; c < channels; ++c) {
              const double expected = conv.output(t, c);
              ASSERT_NEAR(static_cast<double>(out[static_cast<std::size_t>(t * channels + c)]),
                          expected, kTolerance * (4.0 + std::fabs(expected)))
                  << isa << " channel " << c << " token " << t;
            }
          }
        }
      }
    }
  }
}

// In steps of 1, of 2 and of 7 tokens, each from what the last one saved, in place and elsewhere.
TEST(CausalConv, StepsAndSavesChangeNoBit) {
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    Convolution conv(43, 70, 4, true);
    States whole_states(70 * 3, 3);
    const std::vector<float> whole = conv.run(rig,
                                              {.begin = 0,
                                               .end = 43,
                                               .saves = {{1, whole_states.place(0)},
                                                         {16, whole_states.place(1)},
                                                         {43, whole_states.place(2)}}},
                                              whole_states);
    for (const std::int64_t each : {1, 2, 7}) {
      States states(70 * 3, 2);
      std::vector<float> out;
      std::int32_t source = -1;
      for (std::int64_t begin = 0; begin < 43; begin += each) {
        const std::int64_t end = std::min<std::int64_t>(begin + each, 43);
        const std::int32_t target = states.place(begin / each / 3 % 2);
        const std::vector<float> part = conv.run(
            rig, {.begin = begin, .end = end, .source = source, .saves = {{end, target}}}, states);
        out.insert(out.end(), part.begin(), part.end());
        source = target;
      }
      EXPECT_EQ(out, whole) << isa << " steps of " << each;
    }
    for (const auto& [number, token] : {std::pair{0, 1}, {1, 16}, {2, 43}}) {
      const std::vector<float> state = whole_states.state(number, 70 * 3);
      for (std::int64_t c = 0; c < 70; ++c) {
        for (std::int64_t j = 0; j < 3; ++j) {
          const auto expected = static_cast<float>(conv.input(token - 3 + j, c));
          EXPECT_EQ(state[static_cast<std::size_t>(c * 3 + j)], expected) << isa << " " << token;
        }
      }
    }
  }
}

}  // namespace
}  // namespace godwit
