// Recurrences against their formulas in double precision; and what exactness rests on: any split of
// the tokens into steps, any saves, any threads give the same bits, and nothing else is read.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "kernels/kernel_rig.h"
#include "kernels/state_rig.h"

namespace godwit {
namespace {

constexpr double kTolerance = 2e-5;

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
                kTolerance * (1.0 + std::fabs(expected[i])))
        << isa << " " << i;
  }
}

struct Shape {
  std::int64_t key_heads;
  std::int64_t heads;
  std::int64_t rows;
  std::int64_t columns;
  bool delta_rule;
  bool decay_each_row;
  bool gain;
  bool skip;
};

constexpr std::array<Shape, 6> kShapes = {{{2, 4, 16, 24, true, false, true, false},
                                           {4, 4, 16, 16, true, true, true, false},
                                           {2, 8, 16, 16, false, false, true, true},
                                           {1, 1, 7, 130, false, true, false, true},
                                           {3, 3, 5, 1, false, false, false, false},
                                           {1, 2, 128, 64, true, false, true, false}}};

/// A sequence of random tokens, and how its recurrence goes on.
struct Sequence {
  Sequence(const Shape& form, std::int64_t count, std::uint32_t seed) : shape(form), tokens(count) {
    RandomData random(seed);
    const std::int64_t keys = form.key_heads * form.rows;
    const double size = 1.0 / std::sqrt(static_cast<double>(form.rows));
    q = random.numbers(count * keys);
    k = random.numbers(count * keys);
    for (float& number : k) {
      number *= static_cast<float>(size);
    }
    v = random.numbers(count * form.heads * form.columns);
    decay.resize(
        static_cast<std::size_t>(count * form.heads * (form.decay_each_row ? form.rows : 1)));
    gain.resize(static_cast<std::size_t>(count * form.heads));
    for (float& number : decay) {
      number = 1.0F / (1.0F + std::exp(-2.0F - random.number()));
    }
    for (float& number : gain) {
      number = 1.0F / (1.0F + std::exp(random.number()));
    }
    skip = random.numbers(form.heads);
  }

  /// By the formulas: what every token gives, and the last state.
  void compute(std::vector<double>& out, std::vector<double>& state) const {
    out.assign(v.size(), 0.0);
    state.assign(static_cast<std::size_t>(shape.heads * shape.rows * shape.columns), 0.0);
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t h = 0; h < shape.heads; ++h) {
        for (std::int64_t c = 0; c < shape.columns; ++c) {
          step(t, h, c, out, state);
        }
      }
    }
  }
  void step(std::int64_t t, std::int64_t h, std::int64_t c, std::vector<double>& out,
            std::vector<double>& state) const {
    const std::int64_t key_head = h * shape.key_heads / shape.heads;
    const std::int64_t keys = (t * shape.key_heads + key_head) * shape.rows;
    const std::int64_t place = (t * shape.heads + h) * shape.columns + c;
    const auto entry = [&](std::int64_t r) -> double& {
      return state[static_cast<std::size_t>((h * shape.rows + r) * shape.columns + c)];
    };
    double found = 0.0;
    for (std::int64_t r = 0; r < shape.rows; ++r) {
      const std::int64_t head = t * shape.heads + h;
      entry(r) *= at(decay, shape.decay_each_row ? head * shape.rows + r : head);
      found += entry(r) * at(k, keys + r);
    }
    const double update = (at(v, place) - (shape.delta_rule ? found : 0.0)) *
                          (shape.gain ? at(gain, t * shape.heads + h) : 1.0);
    double sum = shape.skip ? at(skip, h) * at(v, place) : 0.0;
    for (std::int64_t r = 0; r < shape.rows; ++r) {
      entry(r) += update * at(k, keys + r);
      sum += entry(r) * at(q, keys + r);
    }
    out[static_cast<std::size_t>(place)] = sum;
  }

  Shape shape;
  std::int64_t tokens;
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
  std::vector<float> decay;
  std::vector<float> gain;
  std::vector<float> skip;
};

/// Runs shares of sequences as one step and puts what their tokens give into `outs`.
void run_step(KernelRig& rig, std::vector<Sequence>& sequences, const std::vector<Share>& shares,
              States& states, std::vector<std::vector<float>>& outs) {
  const Shape shape = sequences[0].shape;
  Sequence all(shape, 0, 1);
  const auto append = [](std::vector<float>& to, const std::vector<float>& from, const Share& share,
                         std::int64_t tokens) {
    const auto each = static_cast<std::int64_t>(from.size()) / tokens;
    to.insert(to.end(), from.begin() + share.begin * each, from.begin() + share.end * each);
  };
  for (std::size_t s = 0; s < shares.size(); ++s) {
    const std::int64_t tokens = sequences[s].tokens;
    append(all.q, sequences[s].q, shares[s], tokens);
    append(all.k, sequences[s].k, shares[s], tokens);
    append(all.v, sequences[s].v, shares[s], tokens);
    append(all.decay, sequences[s].decay, shares[s], tokens);
    append(all.gain, sequences[s].gain, shares[s], tokens);
  }
  Step step(shares);
  const std::int64_t tokens = step.query_start.back();
  const Tensor decay = shape.decay_each_row
                           ? view(all.decay, DType::kF32, {tokens, shape.heads, shape.rows})
                           : view(all.decay, DType::kF32, {tokens, shape.heads});
  LinearRecurrenceParams params{
      .q = view(all.q, DType::kF32, {tokens, shape.key_heads, shape.rows}),
      .k = view(all.k, DType::kF32, {tokens, shape.key_heads, shape.rows}),
      .v = view(all.v, DType::kF32, {tokens, shape.heads, shape.columns}),
      .decay = decay,
      .query_start = Step::list(step.query_start),
      .states = states.tensor(shape.heads, shape.rows, shape.columns),
      .tables = step.tables(),
      .out = view(all.v, DType::kF32, {tokens, shape.heads, shape.columns}),
      .delta_rule = shape.delta_rule};
  if (shape.gain) {
    params.gain = view(all.gain, DType::kF32, {tokens, shape.heads});
  }
  if (shape.skip) {
    params.skip = view(sequences[0].skip, DType::kF32, {shape.heads});
  }
  rig.run(&KernelTable::linear_recurrence, params);
  const std::int64_t width = shape.heads * shape.columns;
  auto from = all.v.begin();
  for (std::size_t s = 0; s < shares.size(); ++s) {
    const std::int64_t count = (shares[s].end - shares[s].begin) * width;
    std::copy_n(from, count, outs[s].begin() + shares[s].begin * width);
    from += count;
  }
}

std::int64_t state_size(const Shape& shape) {
  return shape.heads * shape.rows * shape.columns;
}

TEST(LinearRecurrence, EqualsTheFormulas) {
  for (const std::string& isa : every_table()) {
    KernelRig rig(isa, 2);
    for (const Shape& shape : kShapes) {
      std::vector<Sequence> sequences = {Sequence(shape, 13, 1)};
      States states(state_size(shape), 3);
      std::vector<std::vector<float>> outs = {std::vector<float>(sequences[0].v.size())};
      run_step(rig, sequences, {{.end = 13, .saves = {{13, states.place(1)}}}}, states, outs);
      std::vector<double> expected;
      std::vector<double> state;
      sequences[0].compute(expected, state);
      expect_close(outs[0], expected, isa);
      expect_close(states.state(1, state_size(shape)), state, isa);
      // Nothing but the one place was written.
      for (const std::int64_t other : {0, 2}) {
        for (const float number : states.state(other, state_size(shape))) {
          ASSERT_TRUE(std::isnan(number)) << isa;
        }
      }
    }
  }
}

/// The same tokens in steps of `sizes`, beside another sequence; each step's state lies where the
/// step before left it, or is moved on.
void expect_split(const std::string& isa, int threads, const Shape& shape,
                  const std::vector<std::int64_t>& sizes, bool in_place) {
  KernelRig whole(isa, 1);
  KernelRig rig(isa, threads);
  const std::int64_t size = state_size(shape);
  const std::int64_t tokens = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  std::vector<Sequence> one = {Sequence(shape, tokens, 1)};
  States at_once(size, 3);
  std::vector<std::vector<float>> expected = {std::vector<float>(one[0].v.size())};
  run_step(whole, one, {{.end = tokens, .saves = {{tokens, at_once.place(0)}}}}, at_once, expected);

  std::vector<Sequence> both = {Sequence(shape, tokens, 1), Sequence(shape, tokens, 2)};
  States states(size, 6);
  std::vector<std::vector<float>> outs(2, expected[0]);
  std::fill(outs[0].begin(), outs[0].end(), 0.0F);
  std::array<std::int32_t, 2> source = {-1, -1};
  std::int64_t begin = 0;
  for (const std::int64_t count : sizes) {
    const std::int64_t end = begin + count;
    std::vector<Share> shares;
    for (std::int32_t s = 0; s < 2; ++s) {
      const std::int32_t mine = in_place ? states.place(s) : states.place((begin % 2) * 2 + s);
      Share share{.begin = begin, .end = end, .source = source[static_cast<std::size_t>(s)]};
      if (count > 1) {
        share.saves.emplace_back(begin + count / 2, states.place(4 + s));
      }
      share.saves.emplace_back(end, mine);
      source[static_cast<std::size_t>(s)] = mine;
      shares.push_back(share);
    }
    run_step(rig, both, shares, states, outs);
    begin = end;
  }
  ASSERT_TRUE(same_bits(outs[0], expected[0])) << isa;
  std::vector<float> last(states.data.begin() + source[0] * states.unit,
                          states.data.begin() + source[0] * states.unit + size);
  ASSERT_TRUE(same_bits(last, at_once.state(0, size))) << isa;
}

TEST(LinearRecurrence, AnySplitGivesTheSameBits) {
  for (const std::string& isa : every_table()) {
    if (isa == "ref") {
      continue;  // It keeps states in double precision within a step.
    }
    for (const Shape& shape : kShapes) {
      for (const int threads : {1, 2}) {
        expect_split(isa, threads, shape, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, true);
        expect_split(isa, threads, shape, {7, 3, 1}, true);
        expect_split(isa, threads, shape, {3, 7, 1}, false);
      }
    }
  }
}

/// A save in the middle is the state that a step of the first tokens leaves.
TEST(LinearRecurrence, SavesInTheMiddleAreStatesOfPrefixes) {
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    for (const Shape& shape : kShapes) {
      std::vector<Sequence> sequences = {Sequence(shape, 9, 3)};
      std::vector<std::vector<float>> outs = {std::vector<float>(sequences[0].v.size())};
      States states(state_size(shape), 3);
      run_step(rig, sequences, {{.end = 9, .saves = {{4, states.place(2)}, {9, states.place(0)}}}},
               states, outs);
      run_step(rig, sequences, {{.end = 4, .saves = {{4, states.place(1)}}}}, states, outs);
      ASSERT_TRUE(same_bits(states.state(2, state_size(shape)), states.state(1, state_size(shape))))
          << isa;
    }
  }
}

TEST(SelectiveScan, EqualsTheFormulasInAnySplit) {
  for (const std::string& isa : every_table()) {
    for (const std::int64_t size : {16, 5, 24}) {
      constexpr std::int64_t kChannels = 6;
      constexpr std::int64_t kTokens = 8;
      RandomData random(static_cast<std::uint32_t>(size));
      std::vector<float> x = random.numbers(kTokens * kChannels);
      std::vector<float> step = random.numbers(kTokens * kChannels);
      std::vector<float> rate = random.numbers(kChannels * size);
      std::vector<float> b = random.numbers(kTokens * size);
      std::vector<float> c = random.numbers(kTokens * size);
      std::vector<float> skip = random.numbers(kChannels);
      for (float& number : step) {
        number = std::fabs(number);
      }
      for (float& number : rate) {
        number = -std::fabs(number);
      }
      std::vector<double> expected(x.size());
      std::vector<double> state(static_cast<std::size_t>(kChannels * size), 0.0);
      for (std::int64_t t = 0; t < kTokens; ++t) {
        for (std::int64_t i = 0; i < kChannels; ++i) {
          const std::int64_t place = t * kChannels + i;
          double sum = at(skip, i) * at(x, place);
          for (std::int64_t n = 0; n < size; ++n) {
            double& h = state[static_cast<std::size_t>(i * size + n)];
            h = std::exp(at(step, place) * at(rate, i * size + n)) * h +
                at(step, place) * at(x, place) * at(b, t * size + n);
            sum += h * at(c, t * size + n);
          }
          expected[static_cast<std::size_t>(place)] = sum;
        }
      }
      std::optional<std::vector<float>> first;
      for (const std::int64_t chunk : {8, 1, 3}) {
        for (const int threads : {1, 2}) {
          KernelRig rig(isa, threads);
          States states(kChannels * size, 2);
          std::vector<float> out(x.size());
          for (std::int64_t begin = 0; begin < kTokens; begin += chunk) {
            const std::int64_t end = std::min(kTokens, begin + chunk);
            const auto rows = [&](std::vector<float>& data, std::int64_t width) {
              return view(data, DType::kF32, {kTokens, width}).slice(0, begin, end - begin);
            };
            Step tables({{.begin = begin,
                          .end = end,
                          .source = begin == 0 ? -1 : states.place(1),
                          .saves = {{end, states.place(1)}}}});
            rig.run(&KernelTable::selective_scan,
                    {.x = rows(x, kChannels),
                     .step = rows(step, kChannels),
                     .rate = view(rate, DType::kF32, {kChannels, size}),
                     .b = rows(b, size),
                     .c = rows(c, size),
                     .skip = view(skip, DType::kF32, {kChannels}),
                     .query_start = Step::list(tables.query_start),
                     .states = states.tensor(kChannels, 1, size),
                     .tables = tables.tables(),
                     .out = rows(out, kChannels)});
          }
          expect_close(out, expected, isa);
          expect_close(states.state(1, kChannels * size), state, isa);
          first = first.value_or(out);
          ASSERT_TRUE(isa == "ref" || same_bits(out, *first)) << isa;
        }
      }
    }
  }
}

TEST(StepSize, EqualsTheFormulas) {
  for (const std::string& isa : every_table()) {
    KernelRig rig(isa, 2);
    std::vector<float> x = {-90.0F, -3.0F, 0.0F, 0.5F, 19.0F, 25.0F, 100.0F, 2.0F};
    std::vector<float> bias = {0.25F, -0.5F, 0.0F, 1.0F};
    std::vector<float> rate = {-0.5F, -1.0F, -2.0F, -0.01F};
    std::vector<double> steps;
    std::vector<double> decays;
    for (std::int64_t i = 0; i < 8; ++i) {
      const double sum = at(x, i) + at(bias, i % 4);
      const double step = std::clamp(std::log1p(std::exp(sum)), 0.125, 50.0);
      steps.push_back(step);
      decays.push_back(std::exp(step * at(rate, i % 4)));
    }
    std::vector<float> step = x;
    std::vector<float> decay(8);
    rig.run(&KernelTable::step_size, {.x = view(step, DType::kF32, {2, 4}),
                                      .bias = view(bias, DType::kF32, {4}),
                                      .rate = view(rate, DType::kF32, {4}),
                                      .step = view(step, DType::kF32, {2, 4}),
                                      .decay = view(decay, DType::kF32, {2, 4}),
                                      .lowest = 0.125F,
                                      .highest = 50.0F});
    expect_close(step, steps, isa);
    expect_close(decay, decays, isa);
  }
}

}  // namespace
}  // namespace godwit
