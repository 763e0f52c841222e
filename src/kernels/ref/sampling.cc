// From logits to tokens.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernels/philox.h"
#include "kernels/ref/element.h"
#include "kernels/ref/ref_kernels.h"

namespace godwit::ref {
namespace {

constexpr double kNegativeInfinity = -std::numeric_limits<double>::infinity();

const std::int32_t* token_row(const Tensor& token_buffer, std::int64_t row) {
  return static_cast<const std::int32_t*>(token_buffer.data) + row * token_buffer.stride(0);
}

std::int32_t* int_row(const Tensor& tensor, std::int64_t row) {
  return static_cast<std::int32_t*>(tensor.data) + row * tensor.stride(0);
}

/// A row of logits in which NaN counts as -infinity.
std::vector<double> read_logits(const Tensor& logits, std::int64_t row) {
  std::vector<double> values(float_row(logits, row), float_row(logits, row) + logits.dim(1));
  for (double& value : values) {
    value = std::isnan(value) ? kNegativeInfinity : value;
  }
  return values;
}

/// Ids by descending value, the lowest id first among equals.
std::vector<std::int32_t> order_of(const std::vector<double>& values) {
  std::vector<std::int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
  });
  return order;
}

void penalize(const ProcessLogitsParams& params, std::int64_t r, float* out) {
  const std::int32_t* tokens =
      token_row(params.token_buffer, at<std::int32_t>(params.buffer_rows, r));
  const std::int64_t total = at<std::int32_t>(params.total_lens, r);
  const std::int64_t prompt = at<std::int32_t>(params.prompt_lens, r);
  std::unordered_set<std::int32_t> all(tokens, tokens + total);
  std::unordered_map<std::int32_t, int> counts;
  for (std::int64_t i = prompt; i < total; ++i) {
    ++counts[tokens[i]];
  }
  const std::int64_t vocab = params.logits.dim(1);
  for (const std::int32_t token : all) {
    if (token >= 0 && token < vocab) {
      const float repetition = at<float>(params.repetition, r);
      out[token] = out[token] > 0.0F ? out[token] / repetition : out[token] * repetition;
    }
  }
  for (const auto& [token, count] : counts) {
    if (token >= 0 && token < vocab) {
      out[token] -= at<float>(params.frequency, r) * static_cast<float>(count) +
                    at<float>(params.presence, r);
    }
  }
}

/// Sets to 0 what min_p, top_k and top_p drop.
void filter(std::vector<double>& p, double min_p, std::int64_t top_k, double top_p) {
  const double largest = *std::max_element(p.begin(), p.end());
  for (double& value : p) {
    value = value < min_p * largest ? 0.0 : value;
  }
  const std::vector<std::int32_t> order = order_of(p);
  if (top_k > 0) {
    for (std::size_t i = static_cast<std::size_t>(top_k); i < order.size(); ++i) {
      p[static_cast<std::size_t>(order[i])] = 0.0;
    }
  }
  if (top_p < 1.0) {
    const double target = top_p * std::accumulate(p.begin(), p.end(), 0.0);
    double sum = 0.0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      double& value = p[static_cast<std::size_t>(order[i])];
      if (i > 0 && sum >= target) {
        value = 0.0;
      }
      sum += value;
    }
  }
}

std::int32_t draw(const SampleParams& params, std::int64_t r) {
  std::vector<double> p = read_logits(params.logits, r);
  const auto best = std::max_element(p.begin(), p.end());
  if (best == p.end() || *best == kNegativeInfinity) {
    return -1;
  }
  const auto temperature = static_cast<double>(at<float>(params.temperature, r));
  const double largest = *best;
  if (temperature == 0.0 || std::isinf(largest)) {
    return static_cast<std::int32_t>(best - p.begin());
  }
  for (double& value : p) {
    value = std::exp((value - largest) / temperature);
  }
  filter(p, static_cast<double>(at<float>(params.min_p, r)), at<std::int32_t>(params.top_k, r),
         static_cast<double>(at<float>(params.top_p, r)));
  const double target = uniform(static_cast<std::uint64_t>(at<std::int64_t>(params.seeds, r)),
                                static_cast<std::uint64_t>(at<std::int64_t>(params.steps, r))) *
                        std::accumulate(p.begin(), p.end(), 0.0);
  double sum = 0.0;
  std::int32_t last = -1;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] > 0.0) {
      sum += p[i];
      last = static_cast<std::int32_t>(i);
      if (sum > target) {
        break;
      }
    }
  }
  return last;
}

}  // namespace

Status gather_tokens(Stream& /*stream*/, const GatherTokensParams& params) {
  for (std::int64_t t = 0; t < params.out.dim(0); ++t) {
    static_cast<std::int32_t*>(params.out.data)[t * params.out.stride(0)] =
        token_row(params.token_buffer,
                  at<std::int32_t>(params.buffer_rows, t))[at<std::int32_t>(params.positions, t)];
  }
  return {};
}

Status scatter_tokens(Stream& /*stream*/, const ScatterTokensParams& params) {
  for (std::int64_t r = 0; r < params.tokens.dim(0); ++r) {
    static_cast<std::int32_t*>(
        params.token_buffer
            .data)[at<std::int32_t>(params.buffer_rows, r) * params.token_buffer.stride(0) +
                   at<std::int32_t>(params.positions, r)] = at<std::int32_t>(params.tokens, r);
  }
  return {};
}

Status process_logits(Stream& /*stream*/, const ProcessLogitsParams& params) {
  const std::int64_t vocab = params.logits.dim(1);
  for (std::int64_t r = 0; r < params.logits.dim(0); ++r) {
    float* out = float_row(params.out, r);
    std::memmove(out, float_row(params.logits, r), static_cast<std::size_t>(vocab) * sizeof(float));
    for (std::int64_t i = at<std::int32_t>(params.bias_start, r);
         i < at<std::int32_t>(params.bias_start, r + 1); ++i) {
      const std::int32_t id = at<std::int32_t>(params.bias_ids, i);
      if (id >= 0 && id < vocab) {
        out[id] += at<float>(params.bias_values, i);
      }
    }
    penalize(params, r, out);
  }
  return {};
}

Status mask_logits(Stream& /*stream*/, const MaskLogitsParams& params) {
  constexpr float kBanned = -std::numeric_limits<float>::infinity();
  const std::int64_t vocab = params.logits.dim(1);
  for (std::int64_t r = 0; r < params.logits.dim(0); ++r) {
    float* logits = float_row(params.logits, r);
    const std::int32_t first = at<std::int32_t>(params.allowed_start, r);
    const std::int32_t end = at<std::int32_t>(params.allowed_start, r + 1);
    if (first < end) {
      std::unordered_set<std::int64_t> allowed;
      for (std::int32_t i = first; i < end; ++i) {
        allowed.insert(at<std::int32_t>(params.allowed_ids, i));
      }
      for (std::int64_t id = 0; id < vocab; ++id) {
        logits[id] = allowed.count(id) > 0 ? logits[id] : kBanned;
      }
    }
    const std::int32_t* tokens =
        token_row(params.token_buffer, at<std::int32_t>(params.buffer_rows, r));
    const std::vector<std::int32_t> output(tokens + at<std::int32_t>(params.prompt_lens, r),
                                           tokens + at<std::int32_t>(params.total_lens, r));
    for (std::int64_t s = at<std::int32_t>(params.ban_start, r);
         s < at<std::int32_t>(params.ban_start, r + 1); ++s) {
      std::vector<std::int32_t> banned;
      for (std::int64_t i = at<std::int32_t>(params.ban_offsets, s);
           i < at<std::int32_t>(params.ban_offsets, s + 1); ++i) {
        banned.push_back(at<std::int32_t>(params.ban_ids, i));
      }
      const bool in_vocabulary = !banned.empty() && banned.back() >= 0 && banned.back() < vocab;
      if (in_vocabulary && banned.size() - 1 <= output.size() &&
          std::equal(banned.begin(), banned.end() - 1,
                     output.end() - static_cast<std::ptrdiff_t>(banned.size() - 1))) {
        logits[banned.back()] = kBanned;
      }
    }
  }
  return {};
}

Status sample(Stream& /*stream*/, const SampleParams& params) {
  for (std::int64_t r = 0; r < params.logits.dim(0); ++r) {
    static_cast<std::int32_t*>(params.tokens.data)[r * params.tokens.stride(0)] = draw(params, r);
  }
  return {};
}

Status token_logprobs(Stream& /*stream*/, const TokenLogprobsParams& params) {
  const std::int64_t vocab = params.logits.dim(1);
  for (std::int64_t r = 0; r < params.logits.dim(0); ++r) {
    const std::vector<double> logits = read_logits(params.logits, r);
    const std::vector<std::int32_t> order = order_of(logits);
    const double largest = logits[static_cast<std::size_t>(order[0])];
    double sum = 0.0;
    for (const double logit : logits) {
      sum += std::exp(logit - largest);
    }
    const auto logprob = [&](std::int32_t id) {
      return static_cast<float>(logits[static_cast<std::size_t>(id)] - largest - std::log(sum));
    };
    const auto score = [&](std::int32_t token) {
      return token >= 0 && token < vocab ? logprob(token) : std::numeric_limits<float>::quiet_NaN();
    };
    const std::int32_t token = at<std::int32_t>(params.tokens, r);
    float_row(params.logprobs, r)[0] = score(token);
    const bool known = token >= 0 && token < vocab;
    std::int32_t rank = known ? 1 : 0;
    for (std::size_t i = 0; known && i < logits.size(); ++i) {
      rank += logits[i] > logits[static_cast<std::size_t>(token)] ? 1 : 0;
    }
    int_row(params.ranks, r)[0] = rank;
    const std::int64_t chosen = params.chosen_ids.empty() ? 0 : params.chosen_ids.dim(1);
    for (std::int64_t i = 0; i < chosen; ++i) {
      float_row(params.chosen_logprobs, r)[i] = score(int_row(params.chosen_ids, r)[i]);
    }
    const std::int64_t top_n = params.top_ids.empty() ? 0 : params.top_ids.dim(1);
    for (std::int64_t i = 0; i < top_n; ++i) {
      const std::int32_t id = i < vocab ? order[static_cast<std::size_t>(i)] : -1;
      static_cast<std::int32_t*>(params.top_ids.data)[r * params.top_ids.stride(0) + i] = id;
      float_row(params.top_logprobs, r)[i] =
          id >= 0 ? logprob(id) : -std::numeric_limits<float>::infinity();
    }
  }
  return {};
}

}  // namespace godwit::ref
