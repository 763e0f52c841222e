#include "kernels/route_row.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace godwit {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

double finite_or_zero(double value) {
  return std::isfinite(value) ? value : 0.0;
}

/// The first of the largest among those that are not out; -1 when all are.
std::int64_t first_best(std::span<const double> values, std::span<const std::uint8_t> out) {
  std::int64_t best = -1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (out[i] == 0 && (best < 0 || values[i] > values[static_cast<std::size_t>(best)])) {
      best = static_cast<std::int64_t>(i);
    }
  }
  return best;
}

/// exp(values - the largest) / their sum. `out` may be `values`.
void softmax(std::span<const double> values, std::span<double> out) {
  double largest = kLowest;
  for (const double value : values) {
    largest = std::max(largest, value);
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = std::exp(values[i] - largest);
    sum += out[i];
  }
  for (double& value : out) {
    value /= sum;
  }
}

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}

bool chooses_by_logit(RouterScore score) {
  return score == RouterScore::kSoftmaxOfChosen || score == RouterScore::kSigmoidOfChosen ||
         score == RouterScore::kSparseMixer;
}

}  // namespace

RowRouter::RowRouter(const RouteRule& rule, std::int64_t experts, std::span<const float> bias,
                     std::span<const float> factors)
    : rule_(rule), bias_(bias), factors_(factors) {
  const auto count = static_cast<std::size_t>(experts);
  CHECK(bias.empty() || bias.size() == count);
  CHECK(factors.empty() || factors.size() == count);
  logits_.resize(count);
  scores_.resize(count);
  choices_.resize(count);
  out_.resize(count);
  group_choices_.resize(static_cast<std::size_t>(rule.groups));
  group_taken_.resize(group_choices_.size());
}

void RowRouter::set_scores(const float* logits) {
  std::copy(logits, logits + logits_.size(), logits_.begin());
  switch (rule_.score) {
    case RouterScore::kSoftmax:
      softmax(logits_, scores_);
      break;
    case RouterScore::kSigmoid:
    case RouterScore::kSigmoidOfChosen:
      std::ranges::transform(logits_, scores_.begin(), sigmoid);
      break;
    case RouterScore::kSqrtSoftplus:
      std::ranges::transform(logits_, scores_.begin(),
                             [](double x) { return std::sqrt(softplus(x)); });
      break;
    case RouterScore::kSoftmaxOfChosen:
    case RouterScore::kSparseMixer:
      break;
  }
  std::ranges::transform(scores_, scores_.begin(), finite_or_zero);
}

void RowRouter::set_choices() {
  const bool by_logit = chooses_by_logit(rule_.score);
  for (std::size_t e = 0; e < choices_.size(); ++e) {
    const double choice = (by_logit ? logits_[e] : scores_[e]) +
                          (bias_.empty() ? 0.0 : static_cast<double>(bias_[e]));
    choices_[e] = std::isnan(choice) ? kLowest : choice;
  }
  std::ranges::fill(out_, std::uint8_t{0});
  if (rule_.groups > 1) {
    drop_groups();
  }
}

void RowRouter::drop_groups() {
  const std::size_t groups = group_choices_.size();
  const std::size_t each = choices_.size() / groups;
  for (std::size_t g = 0; g < groups; ++g) {
    double best = kLowest;
    double second = kLowest;
    for (std::size_t e = g * each; e < (g + 1) * each; ++e) {
      second = std::max(second, std::min(best, choices_[e]));
      best = std::max(best, choices_[e]);
    }
    group_choices_[g] = rule_.two_best_of_group && each > 1 ? best + second : best;
  }
  std::ranges::fill(group_taken_, std::uint8_t{0});
  for (std::int64_t i = 0; i < rule_.top_groups; ++i) {
    group_taken_[static_cast<std::size_t>(first_best(group_choices_, group_taken_))] = 1;
  }
  for (std::size_t e = 0; e < choices_.size(); ++e) {
    out_[e] = group_taken_[e / each] == 0 ? 1 : 0;
  }
}

void RowRouter::take_best(std::span<std::int32_t> ids) {
  for (std::int32_t& id : ids) {
    id = static_cast<std::int32_t>(first_best(choices_, out_));
    CHECK_GE(id, 0);
    out_[static_cast<std::size_t>(id)] = 1;
  }
}

void RowRouter::mix_sparsely(std::span<std::int32_t> ids) {
  for (std::size_t slot = 0; slot < ids.size(); ++slot) {
    const std::int64_t best = first_best(choices_, out_);
    CHECK_GE(best, 0);
    const double largest = choices_[static_cast<std::size_t>(best)];
    double sum = 0.0;
    for (std::size_t e = 0; e < choices_.size(); ++e) {
      const double size = std::max(std::fabs(choices_[e]), largest);
      const bool near = !((largest - choices_[e]) / size > static_cast<double>(rule_.tolerance));
      sum += out_[e] == 0 && near ? std::exp(choices_[e] - largest) : 0.0;
    }
    ids[slot] = static_cast<std::int32_t>(best);
    chosen_[slot] = finite_or_zero(1.0 / sum);
    out_[static_cast<std::size_t>(best)] = 1;
  }
}

void RowRouter::finish(std::span<const std::int32_t> ids, std::span<float> weights) {
  double sum = 0.0;
  for (const double weight : chosen_) {
    sum += weight;
  }
  const double bounded = std::max(sum, static_cast<double>(rule_.sum_minimum)) +
                         static_cast<double>(rule_.sum_epsilon);
  const double divisor = rule_.renormalize && bounded > 0.0 ? bounded : 1.0;
  for (std::size_t slot = 0; slot < weights.size(); ++slot) {
    const auto e = static_cast<std::size_t>(ids[slot]);
    const bool known = ids[slot] >= 0 && e < factors_.size();
    const double factor = known ? static_cast<double>(factors_[e]) : 1.0;
    weights[slot] =
        static_cast<float>(chosen_[slot] / divisor * static_cast<double>(rule_.scale) * factor);
  }
}

void RowRouter::choose(const float* logits, std::span<std::int32_t> ids, std::span<float> weights) {
  set_scores(logits);
  set_choices();
  chosen_.resize(ids.size());
  if (rule_.score == RouterScore::kSparseMixer) {
    mix_sparsely(ids);
  } else {
    take_best(ids);
    set_chosen(ids);
  }
  finish(ids, weights);
}

void RowRouter::weigh(const float* logits, std::span<const std::int32_t> ids,
                      std::span<float> weights) {
  set_scores(logits);
  chosen_.resize(ids.size());
  set_chosen(ids);
  finish(ids, weights);
}

void RowRouter::set_chosen(std::span<const std::int32_t> ids) {
  const bool of_chosen = rule_.score == RouterScore::kSoftmaxOfChosen;
  for (std::size_t slot = 0; slot < ids.size(); ++slot) {
    const auto e = static_cast<std::size_t>(ids[slot]);
    const bool known = ids[slot] >= 0 && e < scores_.size();
    chosen_[slot] = known ? (of_chosen ? logits_[e] : scores_[e]) : of_chosen ? kLowest : 0.0;
  }
  if (of_chosen) {
    softmax(chosen_, chosen_);
    std::ranges::transform(chosen_, chosen_.begin(), finite_or_zero);
  }
}

}  // namespace godwit
