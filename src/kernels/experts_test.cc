// Experts and their weighted sum against the oracle, and against themselves in other company.

#include <algorithm>
#include <limits>
#include <numeric>
#include <sys/mman.h>

#include "kernels/kernel_rig.h"

namespace godwit {
namespace {

struct ExpertsProblem {
  ExpertsProblem(DType dtype, std::int64_t token_count, std::uint32_t seed) : type(dtype) {
    hidden = whole_blocks(type, 64);
    width = whole_blocks(type, 40);
    tokens = token_count;
    RandomData random(seed);
    x = random.numbers(tokens * hidden);
    gate_up = random.weights(type, kExperts * 2 * width * hidden);
    down = random.weights(type, kExperts * hidden * width);
    gate_up_bias = random.numbers(kExperts * 2 * width);
    down_bias = random.numbers(kExperts * hidden);
    factors = random.numbers(tokens * kTopK);
    for (std::int64_t t = 0; t < tokens; ++t) {
      // Expert 3 is chosen by none; some slots are empty or name experts that do not exist.
      const std::int32_t kOthers[] = {0, 1, 2, 4, 5, -1, 6, kExperts};
      std::int64_t at = random.integer(0, 7);
      for (std::int64_t slot = 0; slot < kTopK; ++slot) {
        ids.push_back(kOthers[static_cast<std::size_t>(at)]);
        at = (at + random.integer(1, 2)) % 8;
      }
    }
  }

  ExpertsParams params(std::vector<float>& out, Precision precision) {
    const Tensor both = Tensor::contiguous(gate_up.data(), type, {kExperts, 2 * width, hidden});
    const Tensor biases = view(gate_up_bias, DType::kF32, {kExperts, 2 * width});
    ExpertsParams p;
    p.x = view(x, DType::kF32, {tokens, hidden});
    p.ids = view(ids, DType::kI32, {tokens, kTopK});
    p.gate = gated ? both.slice(1, 0, width) : Tensor();
    p.up = both.slice(1, width, width);
    p.down = Tensor::contiguous(down.data(), type, {kExperts, hidden, width});
    if (biased) {
      p.gate_bias = gated ? biases.slice(1, 0, width) : Tensor();
      p.up_bias = biases.slice(1, width, width);
      p.down_bias = view(down_bias, DType::kF32, {kExperts, hidden});
      p.x_weights = view(factors, DType::kF32, {tokens, kTopK});
      p.form = {.activation = Activation::kQuickGelu, .limit = 2.0F, .up_offset = 1.0F};
    }
    p.out = view(out, DType::kF32, {tokens, kTopK, hidden});
    p.precision = precision;
    return p;
  }

  std::vector<float> run(KernelRig& rig, Precision precision) {
    std::vector<float> out(static_cast<std::size_t>(tokens * kTopK * hidden), kUntouched);
    rig.run(&KernelTable::experts, params(out, precision));
    return out;
  }

  static constexpr std::int32_t kExperts = 7;
  static constexpr std::int64_t kTopK = 3;
  static constexpr float kUntouched = 77.0F;
  DType type;
  std::int64_t hidden;
  std::int64_t width;
  std::int64_t tokens;
  bool gated = true;
  bool biased = false;
  std::vector<float> x;
  std::vector<std::byte> gate_up;
  std::vector<std::byte> down;
  std::vector<float> gate_up_bias;
  std::vector<float> down_bias;
  std::vector<float> factors;
  std::vector<std::int32_t> ids;
};

/// |a - b| within `tolerance` of the largest magnitude in b.
void expect_close_in_size(const std::vector<float>& a, const std::vector<float>& b,
                          double tolerance) {
  double largest = 1.0;
  for (const float value : b) {
    largest = std::max(largest, std::fabs(static_cast<double>(value)));
  }
  ASSERT_TRUE(close(a, b, tolerance * largest));
}

TEST(Experts, EveryTableAgreesWithTheOracle) {
  KernelRig oracle("ref", 1);
  for (const DType type : kWeightTypes) {
    ExpertsProblem problem(type, block_elements(type) == 1 ? 21 : 5, 5);
    problem.gated = type != DType::kF32;
    problem.biased = type != DType::kF16;
    const std::vector<float> expected = problem.run(oracle, Precision::kExact);
    for (const std::string& isa : fast_tables()) {
      SCOPED_TRACE(isa + " " + std::string(to_string(type)));
      KernelRig rig(isa, 2);
      expect_close_in_size(problem.run(rig, Precision::kExact), expected, 1e-5);
    }
  }
}

TEST(Experts, EmptySlotsAreLeftAsTheyAre) {
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    ExpertsProblem problem(DType::kBF16, 40, 6);
    const std::vector<float> out = problem.run(rig, Precision::kFast);
    const auto hidden = static_cast<std::size_t>(problem.hidden);
    for (std::size_t i = 0; i < problem.ids.size(); ++i) {
      const bool empty = problem.ids[i] < 0 || problem.ids[i] >= ExpertsProblem::kExperts;
      EXPECT_EQ(out[i * hidden] == ExpertsProblem::kUntouched, empty) << isa << " slot " << i;
    }
    std::ranges::fill(problem.ids, -1);
    for (const float value : problem.run(rig, Precision::kFast)) {
      ASSERT_EQ(value, ExpertsProblem::kUntouched);
    }
    ExpertsProblem none(DType::kBF16, 0, 6);
    EXPECT_TRUE(none.run(rig, Precision::kFast).empty());
  }
}

TEST(Experts, ATokenDoesNotDependOnTheOthersOrTheThreads) {
  for (const std::string& isa : fast_tables()) {
    for (const DType type : kWeightTypes) {
      for (const Precision precision : {Precision::kExact, Precision::kFast}) {
        ExpertsProblem whole(type, isa == "generic" ? 9 : 24, 8);
        whole.biased = true;
        KernelRig one(isa, 1);
        const std::vector<float> all = whole.run(one, precision);
        KernelRig team(isa, 3);
        ASSERT_TRUE(same_bits(whole.run(team, precision), all)) << isa << to_string(type);
        for (const std::int64_t tokens : {1, 7}) {
          ExpertsProblem part = whole;  // The last tokens.
          part.tokens = tokens;
          part.x.erase(part.x.begin(), part.x.end() - tokens * part.hidden);
          part.ids.erase(part.ids.begin(), part.ids.end() - tokens * ExpertsProblem::kTopK);
          part.factors.erase(part.factors.begin(),
                             part.factors.end() - tokens * ExpertsProblem::kTopK);
          const std::vector<float> got = part.run(team, precision);
          ASSERT_TRUE(same_bits(got, {all.end() - std::ssize(got), all.end()}))
              << isa << " " << to_string(type) << " tokens " << tokens;
        }
      }
    }
  }
}

TEST(Experts, MoreRowsThanMeetAMatrixAtOnce) {
  ExpertsProblem many(DType::kQ8_0, 700, 9);
  std::ranges::fill(many.ids, 4);
  ExpertsProblem last = many;
  last.tokens = 1;
  last.x.erase(last.x.begin(), last.x.end() - many.hidden);
  last.ids.resize(ExpertsProblem::kTopK);
  KernelRig rig("", 2);
  const std::vector<float> all = many.run(rig, Precision::kFast);
  const std::vector<float> one = last.run(rig, Precision::kFast);
  ASSERT_TRUE(same_bits(one, {all.end() - std::ssize(one), all.end()}));
}

TEST(CombineExperts, AddsInTheOrderOfTheSlots) {
  KernelRig oracle("ref", 1);
  for (const std::string& isa : fast_tables()) {
    for (const bool accumulate : {false, true}) {
      KernelRig rig(isa, 2);
      RandomData random(3);
      std::vector<float> rows = random.numbers(50 * 4 * 100);
      std::vector<float> weights = random.numbers(50 * 4);
      std::vector<std::int32_t> ids(200);
      for (std::size_t i = 0; i < ids.size(); ++i) {
        ids[i] = static_cast<std::int32_t>(i % 7) - 1;
        if (ids[i] < 0) {  // What an empty slot holds must not matter.
          std::fill_n(rows.begin() + static_cast<std::ptrdiff_t>(i) * 100, 100, std::nanf(""));
        }
      }
      const std::vector<float> before = random.numbers(50 * 100);
      const auto combined = [&](KernelRig& on) {
        std::vector<float> out = before;
        on.run(&KernelTable::combine_experts, {.rows = view(rows, DType::kF32, {50, 4, 100}),
                                               .ids = view(ids, DType::kI32, {50, 4}),
                                               .weights = view(weights, DType::kF32, {50, 4}),
                                               .out = view(out, DType::kF32, {50, 100}),
                                               .accumulate = accumulate});
        return out;
      };
      const std::vector<float> got = combined(rig);
      ASSERT_TRUE(close(got, combined(oracle), 4e-6)) << isa;
      for (std::size_t i = 0; i < got.size(); ++i) {
        float sum = accumulate ? before[i] : 0.0F;
        for (std::size_t slot = 0; slot < 4; ++slot) {
          const std::size_t at = i / 100 * 4 + slot;
          sum = ids[at] < 0 ? sum : std::fma(weights[at], rows[at * 100 + i % 100], sum);
        }
        ASSERT_EQ(got[i], sum) << isa << " element " << i;
      }
    }
  }
}

TEST(CombineExperts, IdentityExpertsAddTheInput) {
  std::vector<std::string> tables = fast_tables();
  tables.emplace_back("ref");
  for (const std::string& isa : tables) {
    KernelRig rig(isa, 2);
    std::vector<float> rows = RandomData(1).numbers(2 * 3 * 20);
    std::fill_n(rows.begin() + 20, 20, std::numeric_limits<float>::quiet_NaN());  // Not to be read.
    std::vector<float> x = RandomData(2).numbers(2 * 20);
    std::vector<float> weights = {0.5F, 2.0F, 0.25F, 1.0F, 1.0F, 4.0F};
    std::vector<std::int32_t> ids = {7, 8, -1, 0, 3, 11};
    std::fill_n(rows.begin() + 5 * 20, 20, std::numeric_limits<float>::quiet_NaN());
    std::vector<float> out(2 * 20, 9.0F);
    rig.run(&KernelTable::combine_experts, {.rows = view(rows, DType::kF32, {2, 3, 20}),
                                            .ids = view(ids, DType::kI32, {2, 3}),
                                            .weights = view(weights, DType::kF32, {2, 3}),
                                            .out = view(out, DType::kF32, {2, 20}),
                                            .accumulate = false,
                                            .x = view(x, DType::kF32, {2, 20}),
                                            .num_experts = 8});
    std::vector<float> expected;
    for (std::size_t i = 0; i < 20; ++i) {
      expected.push_back(0.5F * rows[i] + 2.0F * x[i]);
    }
    for (std::size_t i = 0; i < 20; ++i) {
      expected.push_back(rows[60 + i] + rows[80 + i] + 4.0F * x[20 + i]);
    }
    ASSERT_TRUE(close(out, expected, 2e-6)) << isa;
  }
}

/// Zeroed memory of which only what is touched takes room.
class SparseMemory {
 public:
  explicit SparseMemory(std::size_t bytes)
      : data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
        bytes_(bytes) {
    CHECK(data_ != MAP_FAILED);
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  ~SparseMemory() { ::munmap(data_, bytes_); }
  [[nodiscard]] Tensor tensor(DType dtype, std::initializer_list<std::int64_t> shape) const {
    return Tensor::contiguous(data_, dtype, shape);
  }

 private:
  void* data_;
  std::size_t bytes_;
};

TEST(Experts, OffsetsBeyond31Bits) {
  // Rows: 6000 tokens x 100 slots x 4096 > 2^31. Weights: 9000 experts x 64 x 4096 > 2^31.
  constexpr std::int64_t kTokens = 6000;
  constexpr std::int64_t kTopK = 100;
  constexpr std::int64_t kHidden = 4096;
  constexpr std::int64_t kExperts = 9000;
  constexpr std::int64_t kWidth = 64;
  static_assert(kTokens * kTopK * kHidden > std::int64_t{1} << 31);
  static_assert(kExperts * kWidth * kHidden > std::int64_t{1} << 31);
  const SparseMemory row_memory(kTokens * kTopK * kHidden * sizeof(float));
  const SparseMemory weight_memory(kExperts * kWidth * kHidden * 2);
  const SparseMemory x_memory(kTokens * kHidden * sizeof(float));
  std::vector<std::int32_t> ids(kTokens * kTopK, -1);
  ids.back() = kExperts - 1;
  std::vector<float> weights(ids.size(), 0.5F);

  const Tensor x = x_memory.tensor(DType::kF32, {kTokens, kHidden});
  std::fill_n(static_cast<float*>(x.data) + (kTokens - 1) * kHidden, kHidden, 1.0F);
  const Tensor up = weight_memory.tensor(DType::kBF16, {kExperts, kWidth, kHidden});
  auto* last = static_cast<std::uint16_t*>(up.data) + (kExperts - 1) * kWidth * kHidden;
  std::fill_n(last, kWidth * kHidden, std::uint16_t{0x3f80});  // 1
  const Tensor rows = row_memory.tensor(DType::kF32, {kTokens, kTopK, kHidden});
  std::vector<float> out(static_cast<std::size_t>(kTokens * kHidden), 3.0F);
  KernelRig rig("", 2);
  rig.run(&KernelTable::experts, {.x = x,
                                  .ids = view(ids, DType::kI32, {kTokens, kTopK}),
                                  .x_weights = {},
                                  .gate = {},
                                  .up = up,
                                  .down = up.reshape({kExperts, kHidden, kWidth}),
                                  .gate_bias = {},
                                  .up_bias = {},
                                  .down_bias = {},
                                  .out = rows,
                                  .form = {.activation = Activation::kRelu}});
  rig.run(&KernelTable::combine_experts, {.rows = rows,
                                          .ids = view(ids, DType::kI32, {kTokens, kTopK}),
                                          .weights = view(weights, DType::kF32, {kTokens, kTopK}),
                                          .out = view(out, DType::kF32, {kTokens, kHidden})});
  EXPECT_EQ(out.back(), 0.5F * 4096 * 64);
  EXPECT_EQ(out.front(), 0.0F);
  EXPECT_EQ(out[out.size() - static_cast<std::size_t>(kHidden) - 1], 0.0F);
}

TEST(Clamp, KeepsNan) {
  for (const char* isa : {"ref", ""}) {
    KernelRig rig(isa, 1);
    std::vector<float> x = {-9, 0.25F, std::nanf(""), 9, 2};
    rig.run(
        &KernelTable::clamp,
        {.x = view(x, DType::kF32, {1, 5}), .out = view(x, DType::kF32, {1, 5}), .limit = 2.0F});
    EXPECT_TRUE(close(x, {-2, 0.25F, std::nanf(""), 2, 2}, 0.0));
  }
}

}  // namespace
}  // namespace godwit
