#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "kernels/kernel_rig.h"

namespace godwit {
namespace {

/// Against double precision: dot products and sums of a few hundred f32 terms of size about 1.
constexpr double kTolerance = 1e-5;

struct Shape {
  std::int64_t heads = 6;
  std::int64_t kv_heads = 2;
  std::int64_t head_dim = 64;
  std::int64_t block_size = 16;
  std::int64_t window = 0;
  DType cache = DType::kF32;
  float softcap = 0.0F;
  std::vector<float> alibi_slopes{};
  std::vector<float> sinks{};
  std::int64_t chunk = 0;
  std::int64_t value_dim = 0;  ///< 0: as head_dim.
  bool latent = false;         ///< Values are the first columns of the keys.
  std::int64_t most = 0;       ///< Positions that a token chooses; 0: it sees all.

  [[nodiscard]] std::int64_t value_width() const { return value_dim > 0 ? value_dim : head_dim; }
};

/// `most` of the positions up to `position`, or all of them when they are fewer.
std::vector<std::int32_t> some_positions(std::int64_t position, std::int64_t most,
                                         std::uint32_t seed) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(position + 1));
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::int32_t> some;
  std::sample(all.begin(), all.end(), std::back_inserter(some), most, std::mt19937(seed));
  some.resize(static_cast<std::size_t>(most), -1);
  return some;
}

/// Sequences of given context lengths in a shuffled paged cache. What no token may see is NaN: rows
/// past a context, blocks that belong to nobody.
struct Problem {
  Problem(const Shape& s, std::vector<std::int32_t> contexts, std::uint32_t seed)
      : shape(s), context_lens(std::move(contexts)), random(seed) {
    max_blocks = 1;
    std::int64_t blocks = 3;
    for (const std::int64_t length : context_lens) {
      const std::int64_t needed = (length + s.block_size - 1) / s.block_size;
      max_blocks = std::max(max_blocks, needed);
      blocks += needed;
    }
    num_blocks = blocks;
    const std::int64_t rows = num_blocks * s.kv_heads * s.block_size;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    k.assign(static_cast<std::size_t>(rows * s.head_dim), nan);
    v.assign(static_cast<std::size_t>(rows * s.value_width()), nan);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(num_blocks));
    std::iota(ids.begin(), ids.end(), 0);
    std::shuffle(ids.begin(), ids.end(), std::mt19937(seed));
    tables.assign(context_lens.size() * static_cast<std::size_t>(max_blocks), -1);
    std::size_t next = 0;
    for (std::size_t i = 0; i < context_lens.size(); ++i) {
      for (std::int64_t p = 0; p < context_lens[i]; ++p) {
        std::int32_t& block = tables[i * static_cast<std::size_t>(max_blocks) +
                                     static_cast<std::size_t>(p / s.block_size)];
        block = p % s.block_size == 0 ? ids[next++] : block;
        fill_row(block, p % s.block_size);
      }
    }
    if (s.cache == DType::kBF16) {
      narrow(k);
      narrow(v);
    }
  }

  void fill_row(std::int64_t block, std::int64_t row) {
    for (std::int64_t h = 0; h < shape.kv_heads; ++h) {
      const std::int64_t at = (block * shape.kv_heads + h) * shape.block_size + row;
      for (std::int64_t d = 0; d < shape.head_dim; ++d) {
        k[static_cast<std::size_t>(at * shape.head_dim + d)] = random.number();
      }
      for (std::int64_t d = 0; d < shape.value_width(); ++d) {
        v[static_cast<std::size_t>(at * shape.value_width() + d)] = random.number();
      }
    }
  }
  /// Packs bf16 in place, in the front half.
  static void narrow(std::vector<float>& data) {
    auto* words = reinterpret_cast<std::uint16_t*>(data.data());
    for (std::size_t i = 0; i < data.size(); ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &data[i], sizeof(bits));
      words[i] = static_cast<std::uint16_t>(bits >> 16);
    }
  }

  /// `queries` last tokens of each sequence; q is a function of (sequence, position) alone.
  std::vector<float> run(KernelRig& rig, const std::vector<std::int32_t>& contexts,
                         const std::vector<std::int64_t>& queries) {
    std::vector<std::int32_t> starts = {0};
    for (const std::int64_t count : queries) {
      starts.push_back(starts.back() + static_cast<std::int32_t>(count));
    }
    const std::int64_t tokens = starts.back();
    const std::int64_t width = shape.heads * shape.head_dim;
    std::vector<float> q;
    std::vector<std::int32_t> chosen;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      for (std::int64_t t = contexts[i] - queries[i]; t < contexts[i]; ++t) {
        const auto seed = static_cast<std::uint32_t>(i * 1000 + static_cast<std::size_t>(t));
        const std::vector<float> row = RandomData(seed).numbers(width);
        q.insert(q.end(), row.begin(), row.end());
        if (shape.most > 0) {
          const std::vector<std::int32_t> some = some_positions(t, shape.most, seed);
          chosen.insert(chosen.end(), some.begin(), some.end());
        }
      }
    }
    std::vector<float> out(static_cast<std::size_t>(tokens * shape.heads * shape.value_width()),
                           5.0F);
    std::vector<std::int32_t> lens = contexts;
    const auto sequences = static_cast<std::int64_t>(queries.size());
    const auto cache = [&](std::vector<float>& data, std::int64_t columns) {
      return view(data, shape.cache, {num_blocks, shape.kv_heads, shape.block_size, columns});
    };
    const Tensor keys = cache(k, shape.head_dim);
    rig.run(
        &KernelTable::attention,
        {.q = view(q, DType::kF32, {tokens, shape.heads, shape.head_dim}),
         .k_cache = keys,
         .v_cache =
             shape.latent ? keys.slice(3, 0, shape.value_width()) : cache(v, shape.value_width()),
         .block_tables = view(tables, DType::kI32, {sequences, max_blocks}),
         .query_start = view(starts, DType::kI32, {sequences + 1}),
         .context_lens = view(lens, DType::kI32, {sequences}),
         .alibi_slopes = shape.alibi_slopes.empty()
                             ? Tensor()
                             : view(shape.alibi_slopes, DType::kF32, {shape.heads}),
         .sinks = shape.sinks.empty() ? Tensor() : view(shape.sinks, DType::kF32, {shape.heads}),
         .chosen = shape.most > 0 ? view(chosen, DType::kI32, {tokens, shape.most}) : Tensor(),
         .out = view(out, DType::kF32, {tokens, shape.heads, shape.value_width()}),
         .scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim)),
         .softcap = shape.softcap,
         .window = shape.window,
         .chunk = shape.chunk});
    return out;
  }

  Shape shape;
  std::vector<std::int32_t> context_lens;
  RandomData random;
  std::int64_t max_blocks = 0;
  std::int64_t num_blocks = 0;
  std::vector<float> k;
  std::vector<float> v;
  std::vector<std::int32_t> tables;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const std::int64_t head_dim : {8, 16, 20, 64, 80, 128, 192}) {
    all.push_back({.head_dim = head_dim});
    all.push_back({.head_dim = head_dim, .cache = DType::kBF16});
  }
  for (const std::int64_t block_size : {1, 5, 16, 24, 32}) {
    for (const std::int64_t window : {0, 1, 7, 16, 40}) {
      all.push_back(
          {.heads = 3, .kv_heads = 1, .head_dim = 32, .block_size = block_size, .window = window});
    }
  }
  all.push_back({.heads = 4, .kv_heads = 4});
  for (const std::int64_t chunk : {1, 7, 16, 20, 32}) {
    all.push_back({.heads = 3, .kv_heads = 1, .head_dim = 32, .window = chunk / 2, .chunk = chunk});
  }
  all.push_back({.heads = 2, .kv_heads = 1, .head_dim = 32, .sinks = {-3.0F, 20.0F}});
  all.push_back({.heads = 2, .head_dim = 32, .window = 7, .sinks = {0.5F, 2.0F}, .chunk = 20});
  all.push_back({.softcap = 1.5F});
  all.push_back({.window = 20, .cache = DType::kBF16, .softcap = 0.25F});
  all.push_back({.heads = 3, .kv_heads = 3, .alibi_slopes = {0.5F, 0.03F, 0.0F}});
  all.push_back({.heads = 2, .kv_heads = 1, .window = 7, .softcap = 2.0F, .alibi_slopes = {1, 2}});
  all.push_back({.heads = 16, .kv_heads = 1, .head_dim = 48, .cache = DType::kBF16});
  all.push_back({.head_dim = 24, .value_dim = 16});
  all.push_back({.head_dim = 16, .cache = DType::kBF16, .value_dim = 40});
  for (const DType type : {DType::kF32, DType::kBF16}) {
    for (const std::int64_t heads : {4, 7, 16, 128}) {
      all.push_back({.heads = heads,
                     .kv_heads = 1,
                     .head_dim = 40,
                     .cache = type,
                     .value_dim = 32,
                     .latent = true});
    }
    all.push_back({.heads = 2,
                   .kv_heads = 1,
                   .head_dim = 36,
                   .cache = type,
                   .value_dim = 20,
                   .latent = true,
                   .most = 7});
    all.push_back({.most = 20});
  }
  return all;
}

TEST(Attention, EveryTableAgreesWithTheOracle) {
  KernelRig oracle("ref", 1);
  for (const Shape& shape : shapes()) {
    Problem problem(shape, {1, 16, 33, 60, 5}, 3);
    const std::vector<std::int64_t> queries = {1, 16, 1, 44, 0};
    const std::vector<float> expected = problem.run(oracle, problem.context_lens, queries);
    std::vector<float> first;
    for (const std::string& isa : fast_tables()) {
      for (const int threads : {1, 3}) {
        KernelRig rig(isa, threads);
        const std::vector<float> got = problem.run(rig, problem.context_lens, queries);
        ASSERT_TRUE(close(got, expected, kTolerance))
            << isa << " head_dim " << shape.head_dim << " block " << shape.block_size << " window "
            << shape.window;
        first = first.empty() ? got : first;
        ASSERT_TRUE(same_bits(got, first)) << isa << " threads " << threads;
      }
    }
  }
}

TEST(Attention, ChunksAndMatesDoNotShow) {
  constexpr std::int64_t kLength = 90;
  for (const Shape& shape : shapes()) {
    Problem problem(shape, {kLength, 70}, 5);
    const std::int64_t width = shape.heads * shape.value_width();
    for (const std::string& isa : fast_tables()) {
      if (isa == "generic" && shape.head_dim != 32) {
        continue;  // Slow without an instruction for fma, and equal in its bits: tested above.
      }
      KernelRig rig(isa, 1);
      const std::vector<float> whole = problem.run(rig, {kLength}, {kLength});
      const std::vector<float> mated = problem.run(rig, {kLength, 70}, {kLength, 40});
      ASSERT_TRUE(same_bits(whole, {mated.begin(), mated.begin() + kLength * width})) << isa;
      for (const std::int64_t chunk : {1, 7, 64}) {
        std::vector<float> pieces;
        for (std::int64_t done = 0; done < kLength; done += chunk) {
          const std::int64_t count = std::min(chunk, kLength - done);
          const std::vector<float> piece =
              problem.run(rig, {static_cast<std::int32_t>(done + count), 70}, {count, 1});
          // q depends on (sequence, position), so a chunk asks for the same rows.
          pieces.insert(pieces.end(), piece.begin(), piece.begin() + count * width);
        }
        ASSERT_TRUE(same_bits(pieces, whole)) << isa << " head_dim " << shape.head_dim << " block "
                                              << shape.block_size << " chunk " << chunk;
      }
    }
  }
}

TEST(Attention, LaterValuesOfInfinityDoNotShow) {
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 1);
    Problem problem({}, {40}, 9);
    const std::vector<float> before = problem.run(rig, {40}, {40});
    const std::int64_t row = ((problem.tables[1] * 2 + 0) * 16 + 9) * 64;  // Position 25, head 0.
    problem.v[static_cast<std::size_t>(row)] = std::numeric_limits<float>::infinity();
    const std::vector<float> after = problem.run(rig, {40}, {40});
    const std::int64_t untouched = 25 * 6 * 64;
    ASSERT_TRUE(same_bits({after.begin(), after.begin() + untouched},
                          {before.begin(), before.begin() + untouched}))
        << isa;
    ASSERT_TRUE(std::isinf(after[static_cast<std::size_t>(untouched)])) << isa;
  }
}

TEST(Attention, ASinkTakesProbabilityAndNothingElse) {
  // One head, one position: its weight is exp(s) / (exp(s) + exp(sink)) of the value.
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 1);
    Problem problem({.heads = 1, .kv_heads = 1, .head_dim = 16}, {1}, 4);
    const std::vector<float> plain = problem.run(rig, {1}, {1});  // The value itself.
    const std::vector<float> q = RandomData(0).numbers(16);
    const std::int64_t row = problem.tables[0] * 16 * 16;
    double score = 0.0;
    for (std::int64_t d = 0; d < 16; ++d) {
      score += 0.25 * static_cast<double>(q[static_cast<std::size_t>(d)]) *
               static_cast<double>(problem.k[static_cast<std::size_t>(row + d)]);
    }
    problem.shape.sinks = {1.5F};
    const std::vector<float> sunk = problem.run(rig, {1}, {1});
    const double share = 1.0 / (1.0 + std::exp(1.5 - score));
    for (std::size_t d = 0; d < 16; ++d) {
      EXPECT_NEAR(sunk[d], share * static_cast<double>(plain[d]), 1e-6) << isa;
    }
  }
}

TEST(Attention, NoSequences) {
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    Problem problem({}, {1}, 1);
    EXPECT_TRUE(problem.run(rig, {}, {}).empty());
    EXPECT_TRUE(problem.run(rig, {1}, {0}).empty());
  }
}

TEST(KvWrite, WritesItsSlotsAlone) {
  for (const DType type : {DType::kF32, DType::kBF16}) {
    RandomData random(2);
    std::vector<float> kv = random.numbers(300 * 2 * 2 * 20);
    kv[0] = std::numeric_limits<float>::infinity();
    kv[1] = 3.3961775e38F;  // Rounds up to infinity in bf16.
    kv[2] = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::int64_t> slots(300);
    std::iota(slots.begin(), slots.end(), 0);
    std::shuffle(slots.begin(), slots.end(), std::mt19937(1));
    slots[5] = -1;
    slots[299] = -7;
    const auto written = [&](const std::string& isa) {
      KernelRig rig(isa, 2);
      std::vector<float> caches(static_cast<std::size_t>(2 * 30 * 2 * 10 * 20), -2.0F);
      const Tensor both = view(kv, DType::kF32, {300, 4, 20});
      Tensor cache = view(caches, type, {2, 30, 2, 10, 20});
      const auto half = [&](std::int64_t i) {
        return cache.slice(0, i, 1).reshape({30, 2, 10, 20});
      };
      rig.run(&KernelTable::kv_write, {.k = both.slice(1, 0, 2),
                                       .v = both.slice(1, 2, 2),
                                       .slots = view(slots, DType::kI64, {300}),
                                       .k_cache = half(0),
                                       .v_cache = half(1)});
      return caches;
    };
    const std::vector<float> expected = written("ref");
    for (const std::string& isa : fast_tables()) {
      const std::vector<float> got = written(isa);
      ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0) << isa;
    }
  }
}

}  // namespace
}  // namespace godwit
