#include "kernels/kernel_rig.h"

namespace godwit {
namespace {

/// Rounding errors of a sum in f32, relative to the sum of the magnitudes: about k / 16 + 5
/// additions of half a unit each, for the k <= 1000 here; a few more where a scale is of 16 inputs.
constexpr double kSumTolerance = 6e-6;

struct Problem {
  Problem(DType dtype, std::int64_t row_count, std::int64_t n_count, std::int64_t k_count,
          std::uint32_t seed)
      : rows(row_count), n(n_count), k(whole_blocks(dtype, k_count)), type(dtype) {
    RandomData random(seed);
    x = random.numbers(rows * (k + 3) + 1);
    weights = random.weights(dtype, n * k);
    bias = random.numbers(n);
    before = random.numbers(rows * (n + 5));
  }
  GemmParams params(std::vector<float>& out, Precision precision, bool with_bias, bool accumulate) {
    GemmParams p;
    p.x = Tensor::contiguous(x.data() + 1, DType::kF32, {rows, k + 3}).slice(1, 0, k);
    p.weight = Tensor::contiguous(weights.data(), type, {n, k});
    if (with_bias) {
      p.bias = Tensor::contiguous(bias.data(), DType::kF32, {n});
    }
    p.out = Tensor::contiguous(out.data(), DType::kF32, {rows, n + 5}).slice(1, 0, n);
    p.accumulate = accumulate;
    p.precision = precision;
    return p;
  }

  std::int64_t rows;
  std::int64_t n;
  std::int64_t k;
  DType type;
  std::vector<float> x;
  std::vector<std::byte> weights;
  std::vector<float> bias;
  std::vector<float> before;
};

std::vector<float> product(KernelRig& rig, Problem& problem, Precision precision,
                           bool with_bias = false, bool accumulate = false) {
  std::vector<float> out = problem.before;
  rig.run(&KernelTable::gemm, problem.params(out, precision, with_bias, accumulate));
  return out;
}

/// Sum over k of |x| |w| for each element, as large as the rounding errors may be in proportion to.
std::vector<double> magnitudes(KernelRig& oracle, Problem& problem) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(problem.n));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<std::int32_t>(i);
  }
  std::vector<float> widened(static_cast<std::size_t>(problem.n * problem.k));
  oracle.run(
      &KernelTable::embedding,
      {.table = Tensor::contiguous(problem.weights.data(), problem.type, {problem.n, problem.k}),
       .ids = view(ids, DType::kI32, {problem.n}),
       .out = view(widened, DType::kF32, {problem.n, problem.k})});
  std::vector<double> sums(problem.before.size(), 0.0);
  for (std::int64_t r = 0; r < problem.rows; ++r) {
    for (std::int64_t j = 0; j < problem.n; ++j) {
      for (std::int64_t i = 0; i < problem.k; ++i) {
        sums[static_cast<std::size_t>(r * (problem.n + 5) + j)] += std::fabs(
            static_cast<double>(problem.x[static_cast<std::size_t>(1 + r * (problem.k + 3) + i)]) *
            static_cast<double>(widened[static_cast<std::size_t>(j * problem.k + i)]));
      }
    }
  }
  return sums;
}

void expect_close_to_oracle(KernelRig& rig, KernelRig& oracle, Problem& problem,
                            Precision precision, bool with_bias, bool accumulate) {
  const std::vector<float> expected = product(oracle, problem, precision, with_bias, accumulate);
  const std::vector<float> got = product(rig, problem, precision, with_bias, accumulate);
  const std::vector<double> size = magnitudes(oracle, problem);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double limit = kSumTolerance * (size[i] + 4.0);
    ASSERT_NEAR(got[i], expected[i], limit)
        << rig.table().name << " " << to_string(problem.type) << " rows " << problem.rows << " n "
        << problem.n << " k " << problem.k << " element " << i;
  }
}

TEST(Gemm, EveryTableAgreesWithTheOracle) {
  KernelRig oracle("ref", 1);
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    for (const DType type : kWeightTypes) {
      for (const Precision precision : {Precision::kExact, Precision::kFast}) {
        for (const std::int64_t rows : {1, 2, 3, 5, 8, 9, 16, 19, 33}) {
          Problem problem(type, rows, 37, 96, 7 + static_cast<std::uint32_t>(rows));
          expect_close_to_oracle(rig, oracle, problem, precision, rows % 2 == 1, rows % 3 == 0);
        }
        for (const std::int64_t n : {1, 2, 15, 16, 17, 31, 32}) {
          Problem problem(type, 3, n, 64, 100 + static_cast<std::uint32_t>(n));
          expect_close_to_oracle(rig, oracle, problem, precision, n % 2 == 0, n % 3 == 0);
        }
      }
    }
  }
}

TEST(Gemm, EveryLengthOfPlainRows) {
  KernelRig oracle("ref", 1);
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 1);
    for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (std::int64_t k = 1; k <= 33; ++k) {
        Problem problem(type, 5, 5, k, static_cast<std::uint32_t>(k));
        expect_close_to_oracle(rig, oracle, problem, Precision::kExact, false, false);
        expect_close_to_oracle(rig, oracle, problem, Precision::kFast, true, true);
      }
    }
  }
}

TEST(Gemm, ARowDoesNotDependOnTheOthers) {
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    for (const DType type : kWeightTypes) {
      for (const Precision precision : {Precision::kExact, Precision::kFast}) {
        Problem whole(type, 40, 53, 160, 3);
        const std::vector<float> all = product(rig, whole, precision, true, true);
        for (std::int64_t rows = 1; rows <= 40; rows += rows < 20 ? 1 : 7) {
          Problem part = whole;  // The last `rows` rows.
          part.rows = rows;
          part.x.erase(part.x.begin(), part.x.begin() + (40 - rows) * (whole.k + 3));
          part.before.erase(part.before.begin(), part.before.begin() + (40 - rows) * (53 + 5));
          const std::vector<float> expected(all.end() - rows * (53 + 5), all.end());
          ASSERT_TRUE(same_bits(product(rig, part, precision, true, true), expected))
              << isa << " " << to_string(type) << " rows " << rows;
        }
      }
    }
  }
}

TEST(Gemm, ThreadsDoNotShow) {
  for (const std::string& isa : fast_tables()) {
    for (const DType type : kWeightTypes) {
      for (const Precision precision : {Precision::kExact, Precision::kFast}) {
        for (const std::int64_t rows : {1, 18}) {
          Problem problem(type, rows, 131, 256, 5);
          KernelRig single(isa, 1);
          const std::vector<float> expected = product(single, problem, precision);
          for (const int threads : {2, 3, 5}) {
            KernelRig team(isa, threads);
            ASSERT_TRUE(same_bits(product(team, problem, precision), expected))
                << isa << " " << to_string(type) << " threads " << threads;
          }
        }
      }
    }
  }
}

TEST(Gemm, InstructionSetsGiveTheSameBits) {
  KernelRig generic("generic", 1);
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 1);
    for (const DType type : kWeightTypes) {
      for (const Precision precision : {Precision::kExact, Precision::kFast}) {
        if (type == DType::kBF16 && precision == Precision::kFast) {
          continue;  // Multiplying pairs of bf16 in one instruction rounds differently.
        }
        for (const std::int64_t rows : {1, 4, 23, 48}) {
          Problem problem(type, rows, 69, 192, 11);
          ASSERT_TRUE(same_bits(product(rig, problem, precision, true, true),
                                product(generic, problem, precision, true, true)))
              << isa << " " << to_string(type) << " rows " << rows;
        }
      }
    }
  }
}

TEST(Gemm, ExtremeQuantisedInputs) {
  // All weights and inputs at the ends of their ranges: where products in 16 bits would overflow.
  KernelRig oracle("ref", 1);
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 1);
    for (const DType type : kWeightTypes) {
      if (!has_integer_codes(type)) {
        continue;
      }
      const BlockNumbers numbers = block_numbers(type);
      for (const int byte : {0x80, 0x7f, 0xff, 0x00}) {
        Problem problem(type, 20, 32, 64, 1);
        const auto bytes = static_cast<std::size_t>(block_bytes(type));
        for (std::size_t i = 0; i < problem.weights.size(); ++i) {
          const bool is_number = i % bytes < numbers.header ||
                                 std::any_of(
                                     numbers.places.begin(), numbers.places.end(),
                                     [&](std::size_t place) {
                                       return i % bytes >= place - (type == DType::kQ8_K ? 2 : 0) &&
                                              i % bytes < place + 2;
                                     });
          if (!is_number) {
            problem.weights[i] = static_cast<std::byte>(byte);
          }
        }
        for (std::size_t i = 0; i < problem.x.size(); ++i) {
          problem.x[i] = i % 67 < 40 ? -3.0F : 3.0F;
        }
        expect_close_to_oracle(rig, oracle, problem, Precision::kFast, false, false);
      }
    }
  }
}

TEST(Gemm, ABadInputSpoilsItsOwnRowOnly) {
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 1);
    for (const DType type : kWeightTypes) {
      Problem problem(type, 20, 32, 64, 9);
      const std::vector<float> before = product(rig, problem, Precision::kFast);
      problem.x[static_cast<std::size_t>(1 + 7 * (problem.k + 3) + 5)] = std::nanf("");
      const std::vector<float> after = product(rig, problem, Precision::kFast);
      for (std::size_t i = 0; i < after.size(); ++i) {
        if (i / 37 == 7 && i % 37 < 32) {
          ASSERT_TRUE(std::isnan(after[i])) << isa << " " << to_string(type);
        } else {
          ASSERT_EQ(std::memcmp(&after[i], &before[i], sizeof(float)), 0) << isa;
        }
      }
    }
  }
}

TEST(Gemm, NoRows) {
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    Problem problem(DType::kQ4_1, 0, 16, 32, 1);
    EXPECT_EQ(product(rig, problem, Precision::kFast).size(), 0U);
  }
}

}  // namespace
}  // namespace godwit
