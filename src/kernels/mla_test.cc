// The kernels of latent attention against the oracle, and together against the expanded form
// written out in double precision.

#include <algorithm>
#include <numeric>

#include "kernels/kernel_rig.h"

namespace godwit {
namespace {

constexpr double kSumTolerance = 6e-6;  // Of the sum of magnitudes, as in gemm_test.cc.

/// Matrices of `rows` rows for each head, among others that are not meant: kv_b_proj's layout.
struct HeadProblem {
  HeadProblem(DType dtype, bool is_transposed, std::int64_t token_count, std::uint32_t seed)
      : type(dtype),
        transposed(is_transposed),
        tokens(token_count),
        width(whole_blocks(dtype, 40)) {
    RandomData random(seed);
    weights = random.weights(type, kHeads * (kRows + kOthers) * width);
    x = random.numbers(tokens * kHeads * (inputs() + 5));
  }
  [[nodiscard]] std::int64_t inputs() const { return transposed ? kRows : width; }
  [[nodiscard]] std::int64_t outputs() const { return transposed ? width : kRows; }

  std::vector<float> run(KernelRig& rig, std::int64_t first, std::int64_t count) {
    std::vector<float> out(static_cast<std::size_t>(count * kHeads * (outputs() + 3)), -3.0F);
    const Tensor all = Tensor::contiguous(weights.data(), type, {kHeads, kRows + kOthers, width});
    rig.run(&KernelTable::head_gemm,
            {.x = view(x, DType::kF32, {tokens, kHeads, inputs() + 5})
                      .slice(0, first, count)
                      .slice(2, 5, inputs()),
             .weight = all.slice(1, kOthers, kRows),
             .out = view(out, DType::kF32, {count, kHeads, outputs() + 3}).slice(2, 0, outputs()),
             .transposed = transposed});
    return out;
  }

  static constexpr std::int64_t kHeads = 3;
  static constexpr std::int64_t kRows = 70;
  static constexpr std::int64_t kOthers = 11;
  DType type;
  bool transposed;
  std::int64_t tokens;
  std::int64_t width;
  std::vector<std::byte> weights;
  std::vector<float> x;
};

TEST(HeadGemm, EveryTableAgreesWithTheOracle) {
  KernelRig oracle("ref", 1);
  for (const DType type : kWeightTypes) {
    for (const bool transposed : {false, true}) {
      for (const std::int64_t tokens : {1, 2, 4, 9}) {
        HeadProblem problem(type, transposed, tokens, static_cast<std::uint32_t>(tokens));
        const std::vector<float> expected = problem.run(oracle, 0, tokens);
        for (const std::string& isa : fast_tables()) {
          for (const int threads : {1, 3}) {
            KernelRig rig(isa, threads);
            // Weights are of size 1 or so and inputs too: magnitudes are near the number of terms.
            ASSERT_TRUE(close(problem.run(rig, 0, tokens), expected,
                              kSumTolerance * static_cast<double>(problem.inputs()) * 8))
                << isa << " " << to_string(type) << " transposed " << transposed << " tokens "
                << tokens;
          }
        }
      }
    }
  }
}

TEST(HeadGemm, MatesAndThreadsDoNotShow) {
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 1);
    KernelRig threaded(isa, 3);
    for (const DType type : {DType::kF32, DType::kBF16, DType::kQ4_K}) {
      for (const bool transposed : {false, true}) {
        HeadProblem problem(type, transposed, 9, 77);
        const std::vector<float> whole = problem.run(rig, 0, 9);
        std::vector<float> pieces;
        for (const std::int64_t first : {0, 1, 3, 7}) {
          const std::int64_t end = first == 0 ? 1 : first == 1 ? 3 : first == 3 ? 7 : 9;
          const std::vector<float> piece = problem.run(threaded, first, end - first);
          pieces.insert(pieces.end(), piece.begin(), piece.end());
        }
        ASSERT_TRUE(same_bits(pieces, whole)) << isa << " " << to_string(type);
      }
    }
  }
}

/// Index keys of two sequences in shuffled pages; rows that no token may see are NaN.
struct IndexProblem {
  IndexProblem(DType type, std::int64_t page, std::uint32_t seed)
      : cache_type(type), block_size(page), random(seed) {
    max_blocks = (kLongest + page - 1) / page;
    const std::int64_t blocks = 2 * max_blocks + 1;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(blocks));
    std::iota(ids.begin(), ids.end(), 0);
    std::shuffle(ids.begin(), ids.end(), std::mt19937(seed));
    tables.assign(ids.begin(), ids.begin() + 2 * max_blocks);
    keys.assign(static_cast<std::size_t>(blocks * page * kDim),
                std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t s = 0; s < 2; ++s) {
      for (std::int64_t p = 0; p < kLongest; ++p) {
        const std::int64_t block = tables[static_cast<std::size_t>(s * max_blocks + p / page)];
        for (std::int64_t d = 0; d < kDim; ++d) {
          keys[static_cast<std::size_t>((block * page + p % page) * kDim + d)] = whole();
        }
      }
    }
    for (float& value : q) {
      value = whole();
    }
    for (float& value : weights) {
      value = whole();
    }
    if (type == DType::kBF16) {
      narrowed.resize(keys.size());
      for (std::size_t i = 0; i < keys.size(); ++i) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &keys[i], sizeof(bits));
        narrowed[i] = static_cast<std::uint16_t>(bits >> 16);
      }
    }
  }
  /// Small whole numbers: sums are exact in f32, and equal scores abound.
  float whole() { return static_cast<float>(random.integer(-2, 2)); }

  /// The choices of `counts[s]` tokens that end at contexts[s]; token rows are those of positions.
  std::vector<std::int32_t> run(KernelRig& rig, std::vector<std::int32_t> contexts,
                                const std::vector<std::int64_t>& counts, std::int64_t most) {
    std::vector<std::int32_t> starts = {0};
    std::vector<float> rows;
    std::vector<float> row_weights;
    for (std::size_t s = 0; s < counts.size(); ++s) {
      starts.push_back(starts.back() + static_cast<std::int32_t>(counts[s]));
      for (std::int64_t p = contexts[s] - counts[s]; p < contexts[s]; ++p) {
        const auto from = static_cast<std::ptrdiff_t>(static_cast<std::int64_t>(s) * kLongest + p);
        rows.insert(rows.end(), q.begin() + from * kHeads * kDim,
                    q.begin() + (from + 1) * kHeads * kDim);
        row_weights.insert(row_weights.end(), weights.begin() + from * kHeads,
                           weights.begin() + (from + 1) * kHeads);
      }
    }
    const std::int64_t tokens = starts.back();
    std::vector<std::int32_t> chosen(static_cast<std::size_t>(tokens * most), -9);
    const auto sequences = static_cast<std::int64_t>(counts.size());
    void* data = cache_type == DType::kF32 ? static_cast<void*>(keys.data()) : narrowed.data();
    rig.run(&KernelTable::choose_positions,
            {.q = view(rows, DType::kF32, {tokens, kHeads, kDim}),
             .weights = view(row_weights, DType::kF32, {tokens, kHeads}),
             .index_cache =
                 Tensor::contiguous(data, cache_type, {2 * max_blocks + 1, 1, block_size, kDim}),
             .block_tables = view(tables, DType::kI32, {2, max_blocks}),
             .query_start = view(starts, DType::kI32, {sequences + 1}),
             .context_lens = view(contexts, DType::kI32, {sequences}),
             .chosen = view(chosen, DType::kI32, {tokens, most})});
    return chosen;
  }

  static constexpr std::int64_t kLongest = 90;
  static constexpr std::int64_t kDim = 12;
  static constexpr std::int64_t kHeads = 5;
  DType cache_type;
  std::int64_t block_size;
  RandomData random;
  std::int64_t max_blocks = 0;
  std::vector<std::int32_t> tables;
  std::vector<float> keys;
  std::vector<std::uint16_t> narrowed;
  std::vector<float> q = std::vector<float>(2 * kLongest * kHeads * kDim);
  std::vector<float> weights = std::vector<float>(2 * kLongest * kHeads);
};

TEST(ChoosePositions, EveryTableAgreesWithTheOracle) {
  KernelRig oracle("ref", 1);
  for (const DType type : {DType::kF32, DType::kBF16}) {
    for (const std::int64_t block_size : {1, 5, 16, 128}) {
      IndexProblem problem(type, block_size, 4);
      for (const std::int64_t most : {1, 16, 33, 200}) {
        const std::vector<std::int32_t> expected = problem.run(oracle, {90, 41}, {90, 3}, most);
        for (const std::string& isa : fast_tables()) {
          for (const int threads : {1, 3}) {
            KernelRig rig(isa, threads);
            ASSERT_EQ(problem.run(rig, {90, 41}, {90, 3}, most), expected)
                << isa << " block " << block_size << " most " << most;
          }
        }
      }
    }
  }
}

TEST(ChoosePositions, ChunksAndMatesDoNotShow) {
  constexpr std::int64_t kMost = 16;
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    IndexProblem problem(DType::kF32, 16, 8);
    const std::vector<std::int32_t> whole = problem.run(rig, {90}, {90}, kMost);
    for (const std::int64_t chunk : {1, 7, 64}) {
      std::vector<std::int32_t> pieces;
      for (std::int64_t done = 0; done < 90; done += chunk) {
        const std::int64_t count = std::min<std::int64_t>(chunk, 90 - done);
        const std::vector<std::int32_t> piece =
            problem.run(rig, {static_cast<std::int32_t>(done + count), 50}, {count, 2}, kMost);
        pieces.insert(pieces.end(), piece.begin(), piece.begin() + count * kMost);
      }
      ASSERT_EQ(pieces, whole) << isa << " chunk " << chunk;
    }
  }
}

TEST(ChoosePositions, ScoresThatAreNoNumberComeLast) {
  for (const std::string& isa : {std::string("ref"), std::string("generic")}) {
    KernelRig rig(isa, 1);
    IndexProblem problem(DType::kF32, 128, 2);
    for (float& weight : problem.weights) {
      weight = 1.0F;
    }
    const std::int64_t row = problem.tables[0] * 128 + 5;  // Position 5.
    std::fill_n(problem.keys.begin() + row * IndexProblem::kDim, IndexProblem::kDim,
                std::numeric_limits<float>::quiet_NaN());
    EXPECT_EQ(problem.run(rig, {10}, {1}, 9),
              (std::vector<std::int32_t>{0, 1, 2, 3, 4, 6, 7, 8, 9}))
        << isa;
  }
}

/// Latent attention of `tokens` tokens that are the whole context, in the expanded form: keys and
/// values of every head are made from the latents.
struct Expanded {
  static constexpr std::int64_t kHeads = 4;
  static constexpr std::int64_t kNope = 16;
  static constexpr std::int64_t kRope = 8;
  static constexpr std::int64_t kValue = 24;
  static constexpr std::int64_t kRank = 32;
  static constexpr std::int64_t kTokens = 50;
  static constexpr double kScale = 0.2;

  std::vector<float> q = RandomData(1).numbers(kTokens * kHeads * (kNope + kRope));
  std::vector<float> latents = RandomData(2).numbers(kTokens * (kRank + kRope));
  std::vector<float> kv_b = RandomData(3).numbers(kHeads * (kNope + kValue) * kRank);

  /// Row `row` of kv_b's head `head`, times a latent.
  [[nodiscard]] double expand(std::int64_t head, std::int64_t row, std::int64_t token) const {
    double sum = 0.0;
    for (std::int64_t c = 0; c < kRank; ++c) {
      sum += static_cast<double>(
                 kv_b[static_cast<std::size_t>((head * (kNope + kValue) + row) * kRank + c)]) *
             static_cast<double>(latents[static_cast<std::size_t>(token * (kRank + kRope) + c)]);
    }
    return sum;
  }
  [[nodiscard]] double score(std::int64_t head, std::int64_t token, std::int64_t key) const {
    const std::size_t row = static_cast<std::size_t>((token * kHeads + head) * (kNope + kRope));
    double sum = 0.0;
    for (std::int64_t d = 0; d < kNope + kRope; ++d) {
      const double k =
          d < kNope
              ? expand(head, d, key)
              : static_cast<double>(
                    latents[static_cast<std::size_t>(key * (kRank + kRope) + kRank + d - kNope)]);
      sum += static_cast<double>(q[row + static_cast<std::size_t>(d)]) * k;
    }
    return sum * kScale;
  }
  [[nodiscard]] std::vector<float> attend() const {
    std::vector<float> out;
    for (std::int64_t t = 0; t < kTokens; ++t) {
      for (std::int64_t h = 0; h < kHeads; ++h) {
        std::vector<double> weights;
        for (std::int64_t p = 0; p <= t; ++p) {
          weights.push_back(score(h, t, p));
        }
        const double largest = *std::max_element(weights.begin(), weights.end());
        double total = 0.0;
        for (double& weight : weights) {
          weight = std::exp(weight - largest);
          total += weight;
        }
        for (std::int64_t d = 0; d < kValue; ++d) {
          double sum = 0.0;
          for (std::int64_t p = 0; p <= t; ++p) {
            sum += weights[static_cast<std::size_t>(p)] * expand(h, kNope + d, p);
          }
          out.push_back(static_cast<float>(sum / total));
        }
      }
    }
    return out;
  }
};

TEST(LatentAttention, TheAbsorbedFormEqualsTheExpandedOne) {
  using E = Expanded;
  Expanded problem;
  const std::vector<float> expected = problem.attend();
  std::vector<std::string> tables = fast_tables();
  tables.emplace_back("ref");
  for (const std::string& isa : tables) {
    KernelRig rig(isa, 2);
    const Tensor kv_b =
        view(problem.kv_b, DType::kF32, {E::kHeads, E::kNope + E::kValue, E::kRank});
    const Tensor q = view(problem.q, DType::kF32, {E::kTokens, E::kHeads, E::kNope + E::kRope});
    std::vector<float> absorbed(
        static_cast<std::size_t>(E::kTokens * E::kHeads * (E::kRank + E::kRope)));
    for (std::size_t row = 0; row < absorbed.size() / (E::kRank + E::kRope); ++row) {
      std::copy_n(
          problem.q.begin() + static_cast<std::ptrdiff_t>(row * (E::kNope + E::kRope) + E::kNope),
          E::kRope,
          absorbed.begin() + static_cast<std::ptrdiff_t>(row * (E::kRank + E::kRope) + E::kRank));
    }
    const Tensor absorbed_q =
        view(absorbed, DType::kF32, {E::kTokens, E::kHeads, E::kRank + E::kRope});
    rig.run(&KernelTable::head_gemm, {.x = q.slice(2, 0, E::kNope),
                                      .weight = kv_b.slice(1, 0, E::kNope),
                                      .out = absorbed_q.slice(2, 0, E::kRank),
                                      .transposed = true});
    // Pages of 1 make the latents themselves the cache.
    std::vector<std::int32_t> table(E::kTokens);
    std::iota(table.begin(), table.end(), 0);
    std::vector<std::int32_t> starts = {0, E::kTokens};
    std::vector<std::int32_t> lens = {E::kTokens};
    std::vector<float> found(static_cast<std::size_t>(E::kTokens * E::kHeads * E::kRank));
    const Tensor found_latents = view(found, DType::kF32, {E::kTokens, E::kHeads, E::kRank});
    const Tensor cache =
        view(problem.latents, DType::kF32, {E::kTokens, 1, 1, E::kRank + E::kRope});
    rig.run(&KernelTable::attention, {.q = absorbed_q,
                                      .k_cache = cache,
                                      .v_cache = cache.slice(3, 0, E::kRank),
                                      .block_tables = view(table, DType::kI32, {1, E::kTokens}),
                                      .query_start = view(starts, DType::kI32, {2}),
                                      .context_lens = view(lens, DType::kI32, {1}),
                                      .alibi_slopes = Tensor(),
                                      .chosen = Tensor(),
                                      .out = found_latents,
                                      .scale = static_cast<float>(E::kScale)});
    std::vector<float> out(expected.size());
    rig.run(&KernelTable::head_gemm,
            {.x = found_latents,
             .weight = kv_b.slice(1, E::kNope, E::kValue),
             .out = view(out, DType::kF32, {E::kTokens, E::kHeads, E::kValue})});
    ASSERT_TRUE(close(out, expected, 5e-5)) << isa;
  }
}

}  // namespace
}  // namespace godwit
