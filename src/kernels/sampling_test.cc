#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernel_rig.h"
#include "kernels/philox.h"

namespace godwit {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
/// Of log-probabilities: f32 exponentials, sums in double.
constexpr double kLogprobTolerance = 2e-6;

TEST(Philox, KnownAnswers) {
  // The known answers of Random123's kat_vectors for philox4x32-10.
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformIsBelowOne) {
  double sum = 0.0;
  for (std::uint64_t step = 0; step < 10000; ++step) {
    const double u = uniform(7, step);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.015);  // Five standard deviations of the mean.
}

struct Draws {
  explicit Draws(std::vector<float> row_logits, std::int64_t row_count)
      : rows(row_count), vocab(static_cast<std::int64_t>(row_logits.size())) {
    const auto count = static_cast<std::size_t>(rows);
    for (std::size_t r = 0; r < count; ++r) {
      logits.insert(logits.end(), row_logits.begin(), row_logits.end());
      steps.push_back(static_cast<std::int64_t>(r));
    }
    temperature.assign(count, 1.0F);
    top_k.assign(count, 0);
    top_p.assign(count, 1.0F);
    min_p.assign(count, 0.0F);
    seeds.assign(count, 1234567890123);
  }
  std::vector<std::int32_t> run(KernelRig& rig) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows), -5);
    rig.run(&KernelTable::sample, {.logits = view(logits, DType::kF32, {rows, vocab}),
                                   .temperature = view(temperature, DType::kF32, {rows}),
                                   .top_k = view(top_k, DType::kI32, {rows}),
                                   .top_p = view(top_p, DType::kF32, {rows}),
                                   .min_p = view(min_p, DType::kF32, {rows}),
                                   .seeds = view(seeds, DType::kI64, {rows}),
                                   .steps = view(steps, DType::kI64, {rows}),
                                   .tokens = view(tokens, DType::kI32, {rows})});
    return tokens;
  }

  std::int64_t rows;
  std::int64_t vocab;
  std::vector<float> logits;
  std::vector<float> temperature;
  std::vector<std::int32_t> top_k;
  std::vector<float> top_p;
  std::vector<float> min_p;
  std::vector<std::int64_t> seeds;
  std::vector<std::int64_t> steps;
};

TEST(Sample, AgreesWithTheOracle) {
  KernelRig oracle("ref", 1);
  for (const std::int64_t vocab : {1, 2, 15, 16, 17, 33, 100, 3000}) {
    RandomData random(static_cast<std::uint32_t>(vocab));
    Draws draws(random.numbers(vocab), 200);
    for (std::size_t r = 0; r < 200; ++r) {
      draws.temperature[r] = r % 5 == 0 ? 0.0F : 0.3F + static_cast<float>(r) / 50.0F;
      draws.top_k[r] = static_cast<std::int32_t>(r % 3 == 0 ? random.integer(0, vocab + 2) : 0);
      draws.top_p[r] = r % 2 == 0 ? static_cast<float>(r) / 200.0F : 1.0F;
      draws.min_p[r] = r % 7 == 0 ? 0.05F : 0.0F;
      draws.logits[r * static_cast<std::size_t>(vocab)] += static_cast<float>(r) / 20.0F;
    }
    const std::vector<std::int32_t> expected = draws.run(oracle);
    for (const std::string& isa : fast_tables()) {
      for (const int threads : {1, 3}) {
        KernelRig rig(isa, threads);
        const std::vector<std::int32_t> got = draws.run(rig);
        std::size_t different = 0;
        for (std::size_t r = 0; r < got.size(); ++r) {
          different += got[r] != expected[r] ? 1U : 0U;
        }
        // A draw within an f32 rounding of a border between two tokens may fall to either side.
        EXPECT_LE(different, 1U) << isa << " vocab " << vocab;
      }
    }
  }
}

/// Sum of (observed - expected)^2 / expected over the tokens with a probability.
double chi_square(const std::vector<std::int32_t>& tokens, const std::vector<double>& p) {
  std::vector<double> counts(p.size(), 0.0);
  for (const std::int32_t token : tokens) {
    counts[static_cast<std::size_t>(token)] += 1.0;
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double expected = p[i] * static_cast<double>(tokens.size());
    if (expected == 0.0) {
      EXPECT_EQ(counts[i], 0.0) << "token " << i;
    } else {
      sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
  }
  return sum;
}

TEST(Sample, DrawsFromTheDistribution) {
  // Logits log(p), p = 0.4, 0.3, 0.2, 0.1. The limits are the 99.9 % points of chi-square with 3, 2
  // and 1 degrees of freedom; the seeds are fixed.
  const std::vector<float> logits = {std::log(0.4F), std::log(0.3F), std::log(0.2F),
                                     std::log(0.1F)};
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    Draws all(logits, 20000);
    EXPECT_LT(chi_square(all.run(rig), {0.4, 0.3, 0.2, 0.1}), 16.27);
    all.top_k.assign(20000, 3);
    EXPECT_LT(chi_square(all.run(rig), {4.0 / 9, 3.0 / 9, 2.0 / 9, 0.0}), 13.82);
    all.top_k.assign(20000, 0);
    all.top_p.assign(20000, 0.6F);
    EXPECT_LT(chi_square(all.run(rig), {4.0 / 7, 3.0 / 7, 0.0, 0.0}), 10.83);
    all.top_p.assign(20000, 1.0F);
    all.min_p.assign(20000, 0.6F);
    EXPECT_LT(chi_square(all.run(rig), {4.0 / 7, 3.0 / 7, 0.0, 0.0}), 10.83);
    all.min_p.assign(20000, 0.0F);
    all.temperature.assign(20000, 0.5F);
    EXPECT_LT(chi_square(all.run(rig), {16.0 / 30, 9.0 / 30, 4.0 / 30, 1.0 / 30}), 16.27);
  }
}

TEST(Sample, TiesAndCuts) {
  std::vector<std::string> tables = fast_tables();
  tables.emplace_back("ref");
  for (const std::string& isa : tables) {
    KernelRig rig(isa, 1);
    Draws equal(std::vector<float>(40, 1.5F), 300);
    equal.top_k.assign(300, 3);
    for (const std::int32_t token : equal.run(rig)) {
      EXPECT_TRUE(token >= 0 && token < 3) << isa;
    }
    equal.top_k.assign(300, 0);
    equal.top_p.assign(300, 0.1F);  // 4 of 40 reach a tenth; f32 0.1 is a little more: 5.
    for (const std::int32_t token : equal.run(rig)) {
      EXPECT_TRUE(token >= 0 && token < 5) << isa;
    }
    equal.top_p.assign(300, 0.0F);
    for (const std::int32_t token : equal.run(rig)) {
      EXPECT_EQ(token, 0) << isa;
    }
    equal.temperature.assign(300, 0.0F);
    EXPECT_EQ(equal.run(rig)[0], 0) << isa;
  }
}

TEST(Sample, HostileLogits) {
  std::vector<std::string> tables = fast_tables();
  tables.emplace_back("ref");
  const auto draw = [](KernelRig& rig, std::vector<float> logits, float temperature) {
    Draws draws(std::move(logits), 1);
    draws.temperature = {temperature};
    return draws.run(rig)[0];
  };
  for (const std::string& isa : tables) {
    KernelRig rig(isa, 1);
    for (const float temperature : {0.0F, 1.0F}) {
      EXPECT_EQ(draw(rig, {kNan, -kInfinity, kNan}, temperature), -1) << isa;
      EXPECT_EQ(draw(rig, std::vector<float>(50, -kInfinity), temperature), -1) << isa;
      EXPECT_EQ(draw(rig, {kNan, -kInfinity, -3e38F, kNan}, temperature), 2) << isa;
      EXPECT_EQ(draw(rig, {1.0F, kInfinity, 2.0F, kInfinity}, temperature), 1) << isa;
      EXPECT_EQ(draw(rig, {-200.0F, kNan, 3e38F}, temperature), 2) << isa;
    }
    std::vector<float> late(77, kNan);
    late[76] = -5.0F;
    EXPECT_EQ(draw(rig, late, 0.0F), 76) << isa;
    EXPECT_EQ(draw(rig, late, 0.7F), 76) << isa;
  }
}

TEST(ProcessLogits, AgreesWithTheOracle) {
  constexpr std::int64_t kRows = 6;
  constexpr std::int64_t kVocab = 50;
  RandomData random(4);
  std::vector<float> logits = random.numbers(kRows * kVocab);
  logits[3] = -kInfinity;
  logits[4] = kInfinity;
  std::vector<std::int32_t> buffer(8 * 30);
  for (std::int32_t& token : buffer) {
    token = static_cast<std::int32_t>(random.integer(-3, kVocab + 3));
  }
  std::vector<std::int32_t> rows = {7, 0, 3, 2, 1, 6};
  std::vector<std::int32_t> prompts = {0, 10, 30, 5, 5, 0};
  std::vector<std::int32_t> totals = {30, 20, 30, 30, 25, 0};
  std::vector<float> repetition = {1.0F, 1.3F, 0.8F, 1.0F, 1.0F, 2.0F};
  std::vector<float> frequency = {0.5F, 0.0F, 0.25F, 0.0F, 0.0F, 1.0F};
  std::vector<float> presence = {0.0F, 0.0F, -0.5F, 0.0F, 0.75F, 1.0F};
  std::vector<std::int32_t> starts = {0, 3, 3, 4, 6, 6, 6};
  std::vector<std::int32_t> ids = {5, -1, kVocab, 7, 2147483647, 49};
  std::vector<float> values = {1.0F, 2.0F, 3.0F, -kInfinity, 1.0F, 100.0F};
  const auto run = [&](KernelRig& rig, std::vector<float>& from, std::vector<float>& to) {
    rig.run(&KernelTable::process_logits, {.logits = view(from, DType::kF32, {kRows, kVocab}),
                                           .token_buffer = view(buffer, DType::kI32, {8, 30}),
                                           .buffer_rows = view(rows, DType::kI32, {kRows}),
                                           .prompt_lens = view(prompts, DType::kI32, {kRows}),
                                           .total_lens = view(totals, DType::kI32, {kRows}),
                                           .repetition = view(repetition, DType::kF32, {kRows}),
                                           .frequency = view(frequency, DType::kF32, {kRows}),
                                           .presence = view(presence, DType::kF32, {kRows}),
                                           .bias_start = view(starts, DType::kI32, {kRows + 1}),
                                           .bias_ids = view(ids, DType::kI32, {6}),
                                           .bias_values = view(values, DType::kF32, {6}),
                                           .out = view(to, DType::kF32, {kRows, kVocab})});
  };
  KernelRig oracle("ref", 1);
  std::vector<float> expected(logits.size());
  run(oracle, logits, expected);
  EXPECT_EQ(expected[5],
            logits[5] + 1.0F -
                0.5F * static_cast<float>(std::count(&buffer[7 * 30], &buffer[7 * 30] + 30, 5)));
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    std::vector<float> got(logits.size());
    run(rig, logits, got);
    EXPECT_TRUE(same_bits(got, expected)) << isa;
    got = logits;
    run(rig, got, got);
    EXPECT_TRUE(same_bits(got, expected)) << isa;
  }
}

struct Mask {
  std::vector<float> logits;
  std::vector<std::int32_t> buffer, rows, prompts, totals, allowed_start, allowed, ban_start,
      ban_offsets, bans;

  std::vector<float> run(KernelRig& rig, std::int64_t vocab, std::int64_t context) {
    const auto count = static_cast<std::int64_t>(rows.size());
    const auto ids = [](std::vector<std::int32_t>& values) {
      return view(values, DType::kI32, {static_cast<std::int64_t>(values.size())});
    };
    std::vector<float> out = logits;
    const std::int64_t height = static_cast<std::int64_t>(buffer.size()) / context;
    rig.run(&KernelTable::mask_logits,
            {.logits = view(out, DType::kF32, {count, vocab}),
             .token_buffer = view(buffer, DType::kI32, {height, context}),
             .buffer_rows = ids(rows),
             .prompt_lens = ids(prompts),
             .total_lens = ids(totals),
             .allowed_start = ids(allowed_start),
             .allowed_ids = ids(allowed),
             .ban_start = ids(ban_start),
             .ban_offsets = ids(ban_offsets),
             .ban_ids = ids(bans)});
    return out;
  }
};

TEST(MaskLogits, AllowsAndBansWhatTheRowsOwnOutputAsksFor) {
  // Three rows over the tokens 0 to 5; the rows' outputs are {1, 2}, {} and {1, 2}.
  Mask mask;
  for (int row = 0; row < 3; ++row) {
    mask.logits.insert(mask.logits.end(), {0.0F, 1.0F, 2.0F, 3.0F, 4.0F, kNan});
  }
  mask.buffer = {1, 2, -9, -9, /**/ 3, 1, 2, -9, /**/ 0, 1, 2, 0};
  mask.rows = {1, 0, 2};
  mask.prompts = {1, 2, 1};
  mask.totals = {3, 2, 3};
  mask.allowed_start = {0, 0, 3, 4};
  mask.allowed = {-1, 2, 4, 77};  // Row 0 allows all, row 1 two tokens, row 2 none there is.
  // Row 0: {1,2,3} matches; {2,4} matches; {0,1,2,0} is longer than the output; {1,5} does not end
  // it; {0} always counts; {1,2,99} is outside. Row 1 (empty output): {4}; {2,2}.
  mask.ban_start = {0, 6, 8, 8};
  mask.ban_offsets = {0, 3, 5, 9, 11, 12, 15, 16, 18};
  mask.bans = {1, 2, 3, 2, 4, 0, 1, 2, 0, 1, 5, 0, 1, 2, 99, 4, 2, 2};
  const std::vector<float> expected = {-kInfinity, 1.0F,       2.0F,       -kInfinity, -kInfinity,
                                       kNan,       -kInfinity, -kInfinity, 2.0F,       -kInfinity,
                                       -kInfinity, -kInfinity, -kInfinity, -kInfinity, -kInfinity,
                                       -kInfinity, -kInfinity, -kInfinity};
  std::vector<std::string> tables = fast_tables();
  tables.emplace_back("ref");
  for (const std::string& isa : tables) {
    KernelRig rig(isa, 2);
    EXPECT_TRUE(same_bits(mask.run(rig, 6, 4), expected)) << isa;
  }
}

TEST(MaskLogits, AgreesWithTheOracle) {
  constexpr std::int64_t kRows = 40;
  constexpr std::int64_t kVocab = 70;
  constexpr std::int64_t kContext = 24;
  RandomData random(11);
  Mask mask;
  mask.logits = random.numbers(kRows * kVocab);
  mask.allowed_start = mask.ban_start = mask.ban_offsets = {0};
  for (std::int32_t row = 0; row < kRows; ++row) {
    mask.rows.push_back(kRows - 1 - row);
    mask.prompts.push_back(static_cast<std::int32_t>(random.integer(1, 12)));
    mask.totals.push_back(static_cast<std::int32_t>(random.integer(12, kContext)));
    for (std::int32_t id = -2; row % 3 == 0 && id < kVocab + 2; ++id) {
      if (random.integer(0, 2) == 0) {
        mask.allowed.push_back(id);
      }
    }
    mask.allowed_start.push_back(static_cast<std::int32_t>(mask.allowed.size()));
    for (int sequence = 0; sequence < row; ++sequence) {
      for (std::int64_t i = random.integer(1, 3); i > 0; --i) {
        mask.bans.push_back(static_cast<std::int32_t>(random.integer(0, 2)));
      }
      mask.ban_offsets.push_back(static_cast<std::int32_t>(mask.bans.size()));
    }
    mask.ban_start.push_back(static_cast<std::int32_t>(mask.ban_offsets.size()) - 1);
  }
  for (std::int64_t i = 0; i < kRows * kContext; ++i) {
    mask.buffer.push_back(static_cast<std::int32_t>(random.integer(0, 2)));
  }
  KernelRig oracle("ref", 1);
  const std::vector<float> expected = mask.run(oracle, kVocab, kContext);
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    EXPECT_TRUE(same_bits(mask.run(rig, kVocab, kContext), expected)) << isa;
  }
}

TEST(TokenLogprobs, ChosenTokensHaveTheFormulasValues) {
  constexpr std::int64_t kVocab = 33;
  RandomData random(5);
  std::vector<float> logits = random.numbers(2 * kVocab);
  std::vector<std::int32_t> tokens = {3, 4};
  std::vector<std::int32_t> chosen = {3, 32, -1, 0, 40, 7};
  std::vector<std::string> tables = fast_tables();
  tables.emplace_back("ref");
  for (const std::string& isa : tables) {
    KernelRig rig(isa, 2);
    std::vector<float> logprobs(2);
    std::vector<std::int32_t> ranks(2);
    std::vector<float> values(6);
    rig.run(&KernelTable::token_logprobs, {.logits = view(logits, DType::kF32, {2, kVocab}),
                                           .tokens = view(tokens, DType::kI32, {2}),
                                           .logprobs = view(logprobs, DType::kF32, {2}),
                                           .ranks = view(ranks, DType::kI32, {2}),
                                           .top_ids = {},
                                           .top_logprobs = {},
                                           .chosen_ids = view(chosen, DType::kI32, {2, 3}),
                                           .chosen_logprobs = view(values, DType::kF32, {2, 3})});
    EXPECT_EQ(values[0], logprobs[0]) << "the drawn token has one value, however it is asked for";
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const float* row = &logits[i / 3 * kVocab];
      if (chosen[i] < 0 || chosen[i] >= kVocab) {
        EXPECT_TRUE(std::isnan(values[i]));
        continue;
      }
      double sum = 0.0;
      for (std::int64_t id = 0; id < kVocab; ++id) {
        sum += std::exp(static_cast<double>(row[id]));
      }
      EXPECT_NEAR(values[i], static_cast<double>(row[chosen[i]]) - std::log(sum),
                  kLogprobTolerance);
    }
  }
}

TEST(TokenLogprobs, AgreesWithTheOracle) {
  for (const std::int64_t vocab : {1, 7, 16, 40, 2000}) {
    constexpr std::int64_t kRows = 5;
    RandomData random(static_cast<std::uint32_t>(vocab));
    std::vector<float> logits = random.numbers(kRows * vocab);
    for (std::int64_t r = 0; r < kRows && vocab > 8; ++r) {
      logits[static_cast<std::size_t>(r * vocab + r)] = r == 0 ? kNan : -kInfinity;
      logits[static_cast<std::size_t>(r * vocab + 6)] =
          logits[static_cast<std::size_t>(r * vocab + 7)];
    }
    std::vector<std::int32_t> tokens = {0, static_cast<std::int32_t>(vocab - 1), -1,
                                        static_cast<std::int32_t>(vocab), 0};
    struct Output {
      std::vector<float> logprobs = std::vector<float>(kRows);
      std::vector<std::int32_t> ranks = std::vector<std::int32_t>(kRows);
      std::vector<std::int32_t> top_ids = std::vector<std::int32_t>(kRows * 8);
      std::vector<float> top_logprobs = std::vector<float>(kRows * 8);
    };
    const auto run = [&](KernelRig& rig) {
      Output out;
      rig.run(&KernelTable::token_logprobs,
              {.logits = view(logits, DType::kF32, {kRows, vocab}),
               .tokens = view(tokens, DType::kI32, {kRows}),
               .logprobs = view(out.logprobs, DType::kF32, {kRows}),
               .ranks = view(out.ranks, DType::kI32, {kRows}),
               .top_ids = view(out.top_ids, DType::kI32, {kRows, 8}),
               .top_logprobs = view(out.top_logprobs, DType::kF32, {kRows, 8}),
               .chosen_ids = {},
               .chosen_logprobs = {}});
      return out;
    };
    KernelRig oracle("ref", 1);
    const Output expected = run(oracle);
    for (const std::string& isa : fast_tables()) {
      KernelRig rig(isa, 2);
      const Output got = run(rig);
      EXPECT_TRUE(close(got.logprobs, expected.logprobs, kLogprobTolerance)) << isa << vocab;
      EXPECT_EQ(got.ranks, expected.ranks) << isa;
      EXPECT_EQ(got.top_ids, expected.top_ids) << isa;
      EXPECT_TRUE(close(got.top_logprobs, expected.top_logprobs, kLogprobTolerance)) << isa;
    }
  }
}

TEST(Tokens, GatherAndScatter) {
  std::vector<std::string> tables = fast_tables();
  tables.emplace_back("ref");
  for (const std::string& isa : tables) {
    KernelRig rig(isa, 2);
    std::vector<std::int32_t> buffer(4 * 5, 0);
    std::vector<std::int32_t> tokens = {11, 22, 33};
    std::vector<std::int32_t> rows = {3, 0, 1};
    std::vector<std::int32_t> positions = {4, 0, 2};
    rig.run(&KernelTable::scatter_tokens, {.tokens = view(tokens, DType::kI32, {3}),
                                           .buffer_rows = view(rows, DType::kI32, {3}),
                                           .positions = view(positions, DType::kI32, {3}),
                                           .token_buffer = view(buffer, DType::kI32, {4, 5})});
    EXPECT_EQ(buffer[19], 11);
    EXPECT_EQ(buffer[0], 22);
    EXPECT_EQ(buffer[7], 33);
    std::vector<std::int32_t> out(3, -1);
    rig.run(&KernelTable::gather_tokens, {.token_buffer = view(buffer, DType::kI32, {4, 5}),
                                          .buffer_rows = view(rows, DType::kI32, {3}),
                                          .positions = view(positions, DType::kI32, {3}),
                                          .out = view(out, DType::kI32, {3})});
    EXPECT_EQ(out, tokens);
  }
}

TEST(Tables, AreNamedAndComplete) {
  EXPECT_EQ(cpu_kernels().back().isa, "ref");
  for (const CpuKernels& row : cpu_kernels()) {
    EXPECT_EQ(row.isa, row.table->name);
    EXPECT_EQ(find_cpu_kernels(row.isa).ok(), row.supported) << row.isa;
  }
  EXPECT_TRUE(find_cpu_kernels("").ok());
  EXPECT_EQ(find_cpu_kernels("sse9").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace godwit
