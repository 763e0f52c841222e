// Routing against a reference that sorts, written from the rules as they are published, and against
// worked examples.

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "kernels/kernel_rig.h"

namespace godwit {
namespace {

struct Routed {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
};

struct RouteProblem {
  RouteRule rule;
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::vector<float> logits;
  std::vector<float> bias;

  [[nodiscard]] std::int64_t tokens() const { return std::ssize(logits) / experts; }
};

/// `padding` numbers follow each row of logits.
Routed route(KernelRig& rig, const RouteProblem& problem, std::int64_t padding = 0) {
  const std::int64_t tokens = problem.tokens();
  const std::int64_t stride = problem.experts + padding;
  std::vector<float> logits(static_cast<std::size_t>(tokens * stride),
                            std::numeric_limits<float>::infinity());
  for (std::int64_t i = 0; i < tokens * problem.experts; ++i) {
    logits[static_cast<std::size_t>(i / problem.experts * stride + i % problem.experts)] =
        problem.logits[static_cast<std::size_t>(i)];
  }
  std::vector<float> bias = problem.bias;
  const auto slots = static_cast<std::size_t>(tokens * problem.top_k);
  Routed routed = {.ids = std::vector<std::int32_t>(slots, -9),
                   .weights = std::vector<float>(slots, -9.0F)};
  rig.run(&KernelTable::route,
          {.logits = view(logits, DType::kF32, {tokens, stride}).slice(1, 0, problem.experts),
           .bias = bias.empty() ? Tensor() : view(bias, DType::kF32, {problem.experts}),
           .table = {},
           .tokens = {},
           .ids = view(routed.ids, DType::kI32, {tokens, problem.top_k}),
           .weights = view(routed.weights, DType::kF32, {tokens, problem.top_k}),
           .rule = problem.rule});
  return routed;
}

using Numbers = std::vector<double>;

double reference_score(RouterScore score, const Numbers& z, std::size_t e) {
  if (score == RouterScore::kSoftmax) {
    double below = 0.0;
    for (const double other : z) {
      below += std::exp(other - z[e]);
    }
    return 1.0 / below;
  }
  if (score == RouterScore::kSqrtSoftplus) {
    return std::sqrt(z[e] > 20.0 ? z[e] + std::exp(-z[e]) : std::log1p(std::exp(z[e])));
  }
  return 0.5 * std::tanh(0.5 * z[e]) + 0.5;
}

/// Indices by falling value; of equal ones the lower first.
std::vector<std::size_t> ranked(const Numbers& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  return order;
}

/// -infinity for the experts of groups that lose.
Numbers masked(const RouteRule& rule, const Numbers& choices) {
  const std::size_t each = choices.size() / static_cast<std::size_t>(rule.groups);
  Numbers groups;
  for (std::size_t g = 0; g < choices.size(); g += each) {
    Numbers members(choices.begin() + static_cast<std::ptrdiff_t>(g),
                    choices.begin() + static_cast<std::ptrdiff_t>(g + each));
    std::sort(members.rbegin(), members.rend());
    groups.push_back(members[0] + (rule.two_best_of_group && each > 1 ? members[1] : 0.0));
  }
  Numbers left(choices.size(), -std::numeric_limits<double>::infinity());
  const std::vector<std::size_t> order = ranked(groups);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rule.top_groups); ++i) {
    for (std::size_t e = order[i] * each; e < (order[i] + 1) * each; ++e) {
      left[e] = choices[e];
    }
  }
  return left;
}

Routed reference(const RouteProblem& problem) {
  Routed routed;
  const auto experts = static_cast<std::size_t>(problem.experts);
  for (std::size_t t = 0; t < static_cast<std::size_t>(problem.tokens()); ++t) {
    const Numbers z(problem.logits.begin() + static_cast<std::ptrdiff_t>(t * experts),
                    problem.logits.begin() + static_cast<std::ptrdiff_t>((t + 1) * experts));
    const bool by_logit = problem.rule.score == RouterScore::kSoftmaxOfChosen ||
                          problem.rule.score == RouterScore::kSigmoidOfChosen;
    Numbers scores;
    Numbers choices;
    for (std::size_t e = 0; e < experts; ++e) {
      scores.push_back(reference_score(problem.rule.score, z, e));
      choices.push_back((by_logit ? z[e] : scores[e]) +
                        (problem.bias.empty() ? 0.0 : static_cast<double>(problem.bias[e])));
    }
    const std::vector<std::size_t> order = ranked(masked(problem.rule, choices));
    Numbers weights;
    double sum = 0.0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(problem.top_k); ++i) {
      double weight = scores[order[i]];
      if (problem.rule.score == RouterScore::kSoftmaxOfChosen) {
        double below = 0.0;
        for (std::size_t j = 0; j < static_cast<std::size_t>(problem.top_k); ++j) {
          below += std::exp(z[order[j]] - z[order[i]]);
        }
        weight = 1.0 / below;
      }
      weights.push_back(weight);
      sum += weight;
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double divisor = problem.rule.renormalize
                                 ? std::max(sum, static_cast<double>(problem.rule.sum_minimum)) +
                                       static_cast<double>(problem.rule.sum_epsilon)
                                 : 1.0;
      routed.ids.push_back(static_cast<std::int32_t>(order[i]));
      routed.weights.push_back(
          static_cast<float>(weights[i] / divisor * static_cast<double>(problem.rule.scale)));
    }
  }
  return routed;
}

std::vector<std::string> all_tables() {
  std::vector<std::string> names = fast_tables();
  names.emplace_back("ref");
  return names;
}

void expect_routed(const RouteProblem& problem, const Routed& expected, double tolerance = 1e-6) {
  for (const std::string& isa : all_tables()) {
    KernelRig rig(isa, 2);
    const Routed got = route(rig, problem);
    EXPECT_EQ(got.ids, expected.ids) << isa;
    EXPECT_TRUE(close(got.weights, expected.weights, tolerance)) << isa;
  }
}

constexpr RouterScore kReferenced[] = {RouterScore::kSoftmax, RouterScore::kSigmoid,
                                       RouterScore::kSqrtSoftplus, RouterScore::kSoftmaxOfChosen,
                                       RouterScore::kSigmoidOfChosen};

TEST(Route, EveryRuleEqualsTheReference) {
  const struct {
    std::int64_t experts;
    std::int64_t top_k;
    std::int64_t groups;
    std::int64_t top_groups;
  } kSizes[] = {{1, 1, 1, 1},  {2, 2, 1, 1},   {8, 2, 1, 1},   {16, 4, 4, 2},  {60, 4, 1, 1},
                {64, 6, 8, 3}, {64, 6, 64, 6}, {256, 8, 8, 4}, {257, 10, 1, 1}};
  std::uint32_t seed = 0;
  for (const auto& size : kSizes) {
    for (const RouterScore score : kReferenced) {
      for (int variant = 0; variant < 8; ++variant) {
        RandomData random(++seed);
        RouteProblem problem;
        problem.experts = size.experts;
        problem.top_k = size.top_k;
        problem.rule = {.score = score,
                        .groups = size.groups,
                        .top_groups = size.top_groups,
                        .two_best_of_group = variant % 2 == 1,
                        .renormalize = variant / 2 % 2 == 1,
                        .sum_minimum = variant == 6 ? 1e-12F : 0.0F,
                        .sum_epsilon = variant == 7 ? 1e-6F : 0.0F,
                        .scale = variant / 4 == 1 ? 2.5F : 1.0F};
        problem.logits = random.numbers(9 * size.experts);
        if (variant >= 4) {
          problem.bias = random.numbers(size.experts);
          for (float& b : problem.bias) {
            b -= 3.0F;  // Biased scores below zero: what is masked must not win with 0.
          }
        }
        expect_routed(problem, reference(problem));
      }
    }
  }
}

TEST(Route, LogitsThatAreEqualHugeOrNegative) {
  for (const RouterScore score : kReferenced) {
    for (const float value : {0.0F, -5.0F, -80.0F, 30.0F, 3e38F, -3e38F}) {
      RouteProblem problem;
      problem.experts = 12;
      problem.top_k = 3;
      problem.rule = {.score = score, .renormalize = true};
      problem.logits.assign(24, value);
      problem.logits[17] = value * 0.5F;
      const Routed expected = reference(problem);
      for (const std::string& isa : all_tables()) {
        KernelRig rig(isa, 1);
        const Routed got = route(rig, problem);
        EXPECT_EQ(std::vector<std::int32_t>(got.ids.begin(), got.ids.begin() + 3),
                  (std::vector<std::int32_t>{0, 1, 2}))
            << isa;
        EXPECT_EQ(std::set<std::int32_t>(got.ids.begin() + 3, got.ids.end()).size(), 3U);
        for (const float weight : got.weights) {
          EXPECT_TRUE(std::isfinite(weight) && weight >= 0.0F) << weight;
        }
        if (std::fabs(value) < 40.0F) {
          EXPECT_EQ(got.ids, expected.ids);
          EXPECT_TRUE(close(got.weights, expected.weights, 1e-6));
        }
      }
    }
  }
}

RouteProblem worked_example() {
  RouteProblem problem;
  problem.experts = 16;
  problem.top_k = 3;
  problem.logits = {0.2F, -1.0F, 1.5F, 0.3F, 0.9F,  0.8F, -0.5F, -2.0F,
                    2.0F, -3.0F, 0.1F, 0.0F, -0.2F, 0.6F, 0.6F,  -0.1F};
  return problem;
}

TEST(Route, WorkedExamples) {
  RouteProblem problem = worked_example();
  problem.bias.assign(16, 0.0F);
  problem.bias[1] = 0.5F;
  problem.bias[8] = -0.6F;
  problem.rule = {.score = RouterScore::kSigmoid,
                  .groups = 4,
                  .top_groups = 2,
                  .two_best_of_group = true,
                  .renormalize = true,
                  .sum_epsilon = 1e-20F,
                  .scale = 2.5F};
  expect_routed(problem, {{2, 1, 4}, {1.137121F, 0.374056F, 0.988822F}}, 1e-6);
  problem.rule = {.score = RouterScore::kSigmoid, .renormalize = true};
  expect_routed(problem, {{2, 1, 4}, {0.454849F, 0.149623F, 0.395529F}}, 1e-6);
  problem.bias.clear();
  problem.rule = {.score = RouterScore::kSqrtSoftplus, .renormalize = true};
  expect_routed(problem, {{8, 2, 4}, {0.376181F, 0.336454F, 0.287365F}}, 1e-6);
}

TEST(Route, TheLowestOfEqualLogitsWins) {
  for (const RouterScore score : kReferenced) {
    RouteProblem problem = worked_example();
    problem.rule.score = score;
    problem.top_k = 5;  // The fifth is 13 or 14, which are equal.
    for (const std::string& isa : all_tables()) {
      KernelRig rig(isa, 1);
      EXPECT_EQ(route(rig, problem).ids, (std::vector<std::int32_t>{8, 2, 4, 5, 13})) << isa;
    }
  }
}

TEST(Route, NanAndInfinity) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  const struct {
    RouterScore score;
    std::vector<float> logits;
    std::vector<std::int32_t> ids;
    std::vector<float> weights;
  } kCases[] = {
      {RouterScore::kSoftmax, {1, 2, nan, 3}, {0, 1}, {0, 0}},
      {RouterScore::kSoftmax, {1, 2, infinity, 3}, {0, 1}, {0, 0}},
      {RouterScore::kSoftmax, {0, -infinity, 0, -infinity}, {0, 2}, {0.5F, 0.5F}},
      {RouterScore::kSoftmax, {nan, nan, nan, nan}, {0, 1}, {0, 0}},
      {RouterScore::kSigmoid, {nan, 0, infinity, -infinity}, {2, 1}, {1, 0.5F}},
      {RouterScore::kSqrtSoftplus, {nan, infinity, 20, -infinity}, {2, 0}, {4.47213595F, 0}},
      {RouterScore::kSoftmaxOfChosen, {nan, 1, -infinity, 1}, {1, 3}, {0.5F, 0.5F}},
      {RouterScore::kSoftmaxOfChosen, {nan, nan, nan, nan}, {0, 1}, {0, 0}},
      {RouterScore::kSigmoidOfChosen, {nan, 0, -infinity, nan}, {1, 0}, {0.5F, 0}},
      {RouterScore::kSparseMixer, {nan, nan, nan, nan}, {0, 1}, {0, 0}},
      {RouterScore::kSparseMixer, {nan, 1, nan, -4}, {1, 3}, {1, 1}},
  };
  for (const auto& c : kCases) {
    RouteProblem problem;
    problem.experts = 4;
    problem.top_k = 2;
    problem.rule = {.score = c.score, .tolerance = 0.02F};
    problem.logits = c.logits;
    expect_routed(problem, {c.ids, c.weights});
  }
}

TEST(Route, SparseMixerWeighsThoseNearTheBest) {
  // Worked by hand: of 10, 9.9, 9.5, -1 the first two are within 2 %.
  RouteProblem problem;
  problem.experts = 4;
  problem.top_k = 2;
  problem.rule = {.score = RouterScore::kSparseMixer, .tolerance = 0.02F};
  problem.logits = {9.9F, -1.0F, 10.0F, 9.5F};
  const auto first = static_cast<float>(1.0 / (1.0 + std::exp(-0.1)));
  expect_routed(problem, {{2, 0}, {first, 1.0F}}, 1e-5);
  // 9.75 is within 2 % of 9.9, not of 10; 10 is taken by then.
  problem.logits[3] = 9.75F;
  const auto second = static_cast<float>(1.0 / (1.0 + std::exp(-0.15)));
  expect_routed(problem, {{2, 0}, {first, second}}, 1e-5);
}

TEST(Route, PaddedRowsThreadsAndMatesDoNotShow) {
  RandomData random(4);
  RouteProblem problem;
  problem.experts = 60;
  problem.top_k = 4;
  problem.rule = {.score = RouterScore::kSoftmax, .renormalize = true};
  problem.logits = random.numbers(50 * 60);
  const Routed expected = reference(problem);
  for (const std::string& isa : all_tables()) {
    for (const int threads : {1, 3}) {
      KernelRig rig(isa, threads);
      const Routed all = route(rig, problem, 4);
      EXPECT_EQ(all.ids, expected.ids);
      RouteProblem one = problem;
      one.logits.assign(problem.logits.begin() + 7 * 60, problem.logits.begin() + 8 * 60);
      const Routed alone = route(rig, one);
      EXPECT_TRUE(std::equal(alone.ids.begin(), alone.ids.end(), all.ids.begin() + 28));
      EXPECT_TRUE(same_bits(alone.weights, {all.weights.begin() + 28, all.weights.begin() + 32}));
      one.logits.clear();
      EXPECT_TRUE(route(rig, one).ids.empty());
    }
  }
}

TEST(Route, ExpertsFromATableOfTokens) {
  std::vector<float> logits = {0, 0, 20, -20, 1, 2, 3, 4, 0, 0, 0, 0};
  std::vector<std::int32_t> table = {2, 0, 3, 1};
  std::vector<std::int32_t> tokens = {1, 0, 2};
  for (const std::string& isa : all_tables()) {
    KernelRig rig(isa, 1);
    std::vector<std::int32_t> ids(6, -9);
    std::vector<float> weights(6, -9.0F);
    rig.run(&KernelTable::route, {.logits = view(logits, DType::kF32, {3, 4}),
                                  .bias = {},
                                  .table = view(table, DType::kI32, {2, 2}),
                                  .tokens = view(tokens, DType::kI32, {3}),
                                  .ids = view(ids, DType::kI32, {3, 2}),
                                  .weights = view(weights, DType::kF32, {3, 2}),
                                  .rule = {.score = RouterScore::kSigmoid, .scale = 2.0F}});
    EXPECT_EQ(ids, (std::vector<std::int32_t>{3, 1, 2, 0, -1, -1})) << isa;
    EXPECT_TRUE(close(weights,
                      {static_cast<float>(2.0 / (1.0 + std::exp(20.0))), 1.0F,
                       static_cast<float>(2.0 / (1.0 + std::exp(-3.0))),
                       static_cast<float>(2.0 / (1.0 + std::exp(-1.0))), 0.0F, 0.0F},
                      1e-6))
        << isa;
  }
}

TEST(Route, FactorsMultiplyTheWeightsOfTheirExperts) {
  for (const std::string& isa : all_tables()) {
    KernelRig rig(isa, 2);
    std::vector<float> logits = {3.0F, 1.0F, 2.0F, -1.0F};
    std::vector<std::uint16_t> factors = {0x3f00, 0x4000, 0x4040, 0x3f80};  // 0.5, 2, 3, 1
    std::vector<std::int32_t> ids(2, -9);
    std::vector<float> weights(2, -9.0F);
    rig.run(&KernelTable::route, {.logits = view(logits, DType::kF32, {1, 4}),
                                  .bias = {},
                                  .table = {},
                                  .tokens = {},
                                  .ids = view(ids, DType::kI32, {1, 2}),
                                  .weights = view(weights, DType::kF32, {1, 2}),
                                  .rule = {.renormalize = true, .scale = 2.0F},
                                  .factors = view(factors, DType::kBF16, {4})});
    const double e = std::exp(-1.0);
    EXPECT_EQ(ids, (std::vector<std::int32_t>{0, 2})) << isa;
    EXPECT_NEAR(static_cast<double>(weights[0]), 2.0 * 0.5 / (1.0 + e), 1e-6) << isa;
    EXPECT_NEAR(static_cast<double>(weights[1]), 2.0 * 3.0 * e / (1.0 + e), 1e-6) << isa;
  }
}

}  // namespace
}  // namespace godwit
