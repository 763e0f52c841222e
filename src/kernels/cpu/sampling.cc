// From logits to tokens: rows are independent of each other and split among the threads.

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/access.h"
#include "kernels/cpu/drivers.h"
#include "kernels/cpu/weight_filter.h"
#include "kernels/philox.h"

namespace godwit::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

const std::int32_t* token_row(const Tensor& token_buffer, const Tensor& rows, std::int64_t index) {
  return row_of<std::int32_t>(token_buffer, element<std::int32_t>(rows, index));
}

/// Applies the penalties of row `r`; `counts` is zeroed scratch, one an id, and is left zeroed.
void penalize(const ProcessLogitsParams& params, std::int64_t r, std::int32_t* counts) {
  // Bit 30 marks a token as seen; the bits below count its occurrences in the output.
  constexpr std::int32_t kSeen = 1 << 30;
  const std::int64_t vocab = params.logits.dim(1);
  const auto repetition = element<float>(params.repetition, r);
  const auto frequency = element<float>(params.frequency, r);
  const auto presence = element<float>(params.presence, r);
  const std::int32_t* tokens = token_row(params.token_buffer, params.buffer_rows, r);
  const std::int64_t prompt = element<std::int32_t>(params.prompt_lens, r);
  const std::int64_t total = element<std::int32_t>(params.total_lens, r);
  auto* out = row_of<float>(params.out, r);
  for (std::int64_t i = 0; i < total; ++i) {
    const std::int64_t token = tokens[i];
    if (token >= 0 && token < vocab) {
      counts[token] = (counts[token] | kSeen) + (i >= prompt ? 1 : 0);
    }
  }
  for (std::int64_t i = 0; i < total; ++i) {
    const std::int64_t token = tokens[i];
    if (token < 0 || token >= vocab || counts[token] == 0) {
      continue;
    }
    const std::int32_t count = counts[token] & ~kSeen;
    counts[token] = 0;
    out[token] = out[token] > 0.0F ? out[token] / repetition : out[token] * repetition;
    if (count > 0) {
      out[token] -= frequency * static_cast<float>(count) + presence;
    }
  }
}

bool penalized(const ProcessLogitsParams& params, std::int64_t r) {
  return element<float>(params.repetition, r) != 1.0F ||
         element<float>(params.frequency, r) != 0.0F || element<float>(params.presence, r) != 0.0F;
}

/// Calls task(row, scratch) for all rows with `bytes_each` bytes of scratch a thread.
template <class Task>
Status for_rows(Stream& stream, std::int64_t rows, std::int64_t bytes_each, const Task& task) {
  const Workspace::Scope scope(stream.workspace());
  ThreadPool& threads = threads_of(stream);
  bytes_each = (bytes_each + 63) / 64 * 64;
  auto* scratch = TRY(take<std::byte>(stream, bytes_each * threads.size()));
  threads.run([&](int thread) {
    for (std::int64_t r = rows * thread / threads.size(); r < rows * (thread + 1) / threads.size();
         ++r) {
      task(r, scratch + thread * bytes_each);
    }
  });
  return {};
}

/// The place of the number u in [0, 1) in the distribution of `weights`, in order of id.
std::int32_t invert(const float* weights, std::int64_t count, double u) {
  double total = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    total += static_cast<double>(weights[i]);
  }
  const double target = u * total;
  double sum = 0.0;
  std::int64_t last = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    if (weights[i] > 0.0F) {
      sum += static_cast<double>(weights[i]);
      last = i;
      if (sum > target) {
        break;
      }
    }
  }
  return static_cast<std::int32_t>(last);
}

std::int32_t draw(const IsaKernels& isa, const SampleParams& params, std::int64_t r,
                  void* scratch) {
  const std::int64_t vocab = params.logits.dim(1);
  const auto* logits = row_of<const float>(params.logits, r);
  const float largest = isa.logits->max(logits, vocab);
  if (largest == -kInfinity) {
    return -1;
  }
  const auto temperature = element<float>(params.temperature, r);
  if (temperature == 0.0F || largest == kInfinity) {
    return static_cast<std::int32_t>(isa.logits->find(logits, vocab, largest));
  }
  WeightFilter filter(scratch, vocab);
  isa.logits->softmax_terms(logits, vocab, largest, temperature, filter.weights());
  filter.drop_below(static_cast<double>(element<float>(params.min_p, r)));
  filter.keep_largest(element<std::int32_t>(params.top_k, r));
  filter.keep_mass(static_cast<double>(element<float>(params.top_p, r)));
  return invert(filter.weights(), vocab,
                uniform(static_cast<std::uint64_t>(element<std::int64_t>(params.seeds, r)),
                        static_cast<std::uint64_t>(element<std::int64_t>(params.steps, r))));
}

/// Bans every id of row `r` that its ascending list of allowed ids leaves out.
void keep_allowed(const MaskLogitsParams& params, std::int64_t r) {
  const std::int64_t vocab = params.logits.dim(1);
  const std::int64_t end = element<std::int32_t>(params.allowed_start, r + 1);
  std::int64_t next = element<std::int32_t>(params.allowed_start, r);
  if (next == end) {
    return;
  }
  auto* logits = row_of<float>(params.logits, r);
  for (std::int64_t id = 0; id < vocab; ++id) {
    while (next < end && element<std::int32_t>(params.allowed_ids, next) < id) {
      ++next;
    }
    if (next == end || element<std::int32_t>(params.allowed_ids, next) != id) {
      logits[id] = -kInfinity;
    }
  }
}

/// Bans the ends of the sequences whose beginnings end the output of row `r`.
void ban_sequences(const MaskLogitsParams& params, std::int64_t r) {
  const std::int64_t vocab = params.logits.dim(1);
  const std::int32_t* tokens = token_row(params.token_buffer, params.buffer_rows, r);
  const std::int64_t total = element<std::int32_t>(params.total_lens, r);
  const std::int64_t output = total - element<std::int32_t>(params.prompt_lens, r);
  for (std::int64_t s = element<std::int32_t>(params.ban_start, r);
       s < element<std::int32_t>(params.ban_start, r + 1); ++s) {
    const std::int64_t begin = element<std::int32_t>(params.ban_offsets, s);
    const std::int64_t before = element<std::int32_t>(params.ban_offsets, s + 1) - begin - 1;
    if (before < 0 || before > output) {
      continue;
    }
    bool matches = true;
    for (std::int64_t i = 0; i < before && matches; ++i) {
      matches = tokens[total - before + i] == element<std::int32_t>(params.ban_ids, begin + i);
    }
    const std::int64_t last = element<std::int32_t>(params.ban_ids, begin + before);
    if (matches && last >= 0 && last < vocab) {
      row_of<float>(params.logits, r)[last] = -kInfinity;
    }
  }
}

/// The top_n largest logits of a row, the lowest id first among equals.
void find_top(const float* logits, std::int64_t vocab, std::int64_t top_n, std::int32_t* ids,
              float* values) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < vocab; ++i) {
    const float value = std::isnan(logits[i]) ? -kInfinity : logits[i];
    if (found == top_n && !(value > values[top_n - 1])) {
      continue;
    }
    std::int64_t place = found < top_n ? found++ : top_n - 1;
    for (; place > 0 && value > values[place - 1]; --place) {
      values[place] = values[place - 1];
      ids[place] = ids[place - 1];
    }
    values[place] = value;
    ids[place] = static_cast<std::int32_t>(i);
  }
  for (; found < top_n; ++found) {
    ids[found] = -1;
    values[found] = -kInfinity;
  }
}

void logprobs_of_row(const IsaKernels& isa, const TokenLogprobsParams& params, std::int64_t r) {
  const std::int64_t vocab = params.logits.dim(1);
  const auto* logits = row_of<const float>(params.logits, r);
  const float largest = isa.logits->max(logits, vocab);
  const double total = std::log(isa.logits->softmax_terms(logits, vocab, largest, 1.0F, nullptr)) +
                       static_cast<double>(largest);
  const auto logprob = [&](float logit) {
    return static_cast<float>(static_cast<double>(std::isnan(logit) ? -kInfinity : logit) - total);
  };
  const auto score = [&](std::int64_t token) {
    return token >= 0 && token < vocab ? logprob(logits[token])
                                       : std::numeric_limits<float>::quiet_NaN();
  };
  const std::int64_t token = element<std::int32_t>(params.tokens, r);
  element<float>(params.logprobs, r) = score(token);
  std::int32_t rank = 0;
  if (token >= 0 && token < vocab) {
    const float own = std::isnan(logits[token]) ? -kInfinity : logits[token];
    rank = 1 + static_cast<std::int32_t>(isa.logits->count_above(logits, vocab, own));
  }
  element<std::int32_t>(params.ranks, r) = rank;
  const std::int64_t chosen = params.chosen_ids.empty() ? 0 : params.chosen_ids.dim(1);
  for (std::int64_t i = 0; i < chosen; ++i) {
    row_of<float>(params.chosen_logprobs, r)[i] =
        score(row_of<const std::int32_t>(params.chosen_ids, r)[i]);
  }
  if (params.top_ids.empty() || params.top_ids.dim(1) == 0) {
    return;
  }
  const std::int64_t top_n = params.top_ids.dim(1);
  auto* values = row_of<float>(params.top_logprobs, r);
  auto* ids = row_of<std::int32_t>(params.top_ids, r);
  find_top(logits, vocab, top_n, ids, values);
  for (std::int64_t i = 0; i < top_n; ++i) {
    values[i] = ids[i] < 0 ? -kInfinity : logprob(values[i]);
  }
}

}  // namespace

Status gather_tokens(const IsaKernels& /*isa*/, Stream& /*stream*/,
                     const GatherTokensParams& params) {
  for (std::int64_t t = 0; t < params.out.dim(0); ++t) {
    element<std::int32_t>(params.out, t) = token_row(params.token_buffer, params.buffer_rows,
                                                     t)[element<std::int32_t>(params.positions, t)];
  }
  return {};
}

Status scatter_tokens(const IsaKernels& /*isa*/, Stream& /*stream*/,
                      const ScatterTokensParams& params) {
  for (std::int64_t r = 0; r < params.tokens.dim(0); ++r) {
    row_of<std::int32_t>(
        params.token_buffer,
        element<std::int32_t>(params.buffer_rows, r))[element<std::int32_t>(params.positions, r)] =
        element<std::int32_t>(params.tokens, r);
  }
  return {};
}

Status process_logits(const IsaKernels& /*isa*/, Stream& stream,
                      const ProcessLogitsParams& params) {
  const std::int64_t vocab = params.logits.dim(1);
  const std::int64_t rows = params.logits.dim(0);
  bool any = params.out.data != params.logits.data;
  for (std::int64_t r = 0; r < rows && !any; ++r) {
    any = penalized(params, r) || element<std::int32_t>(params.bias_start, r) !=
                                      element<std::int32_t>(params.bias_start, r + 1);
  }
  if (!any) {
    return {};
  }
  const std::int64_t bytes = vocab * static_cast<std::int64_t>(sizeof(std::int32_t));
  return for_rows(stream, rows, bytes, [&](std::int64_t r, std::byte* scratch) {
    auto* out = row_of<float>(params.out, r);
    const auto* logits = row_of<const float>(params.logits, r);
    if (out != logits) {
      std::memcpy(out, logits, static_cast<std::size_t>(bytes));
    }
    for (std::int64_t i = element<std::int32_t>(params.bias_start, r);
         i < element<std::int32_t>(params.bias_start, r + 1); ++i) {
      const std::int64_t id = element<std::int32_t>(params.bias_ids, i);
      if (id >= 0 && id < vocab) {
        out[id] += element<float>(params.bias_values, i);
      }
    }
    if (penalized(params, r)) {
      std::memset(scratch, 0, static_cast<std::size_t>(bytes));
      penalize(params, r, reinterpret_cast<std::int32_t*>(scratch));
    }
  });
}

Status mask_logits(const IsaKernels& /*isa*/, Stream& stream, const MaskLogitsParams& params) {
  return for_rows(stream, params.logits.dim(0), 64, [&](std::int64_t r, std::byte* /*scratch*/) {
    keep_allowed(params, r);
    ban_sequences(params, r);
  });
}

Status sample(const IsaKernels& isa, Stream& stream, const SampleParams& params) {
  return for_rows(stream, params.logits.dim(0), WeightFilter::scratch_bytes(params.logits.dim(1)),
                  [&](std::int64_t r, std::byte* scratch) {
                    element<std::int32_t>(params.tokens, r) = draw(isa, params, r, scratch);
                  });
}

Status token_logprobs(const IsaKernels& isa, Stream& stream, const TokenLogprobsParams& params) {
  return for_rows(stream, params.logits.dim(0), 64,
                  [&](std::int64_t r, std::byte* /*scratch*/) { logprobs_of_row(isa, params, r); });
}

}  // namespace godwit::cpu
