#include "sample/sampler.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "device/upload.h"
#include "ops/sampling.h"

namespace godwit {
namespace {

/// Collects one value a row.
template <class T, class Pick>
std::vector<T> column(std::span<const SampleRow> rows, const Pick& pick) {
  std::vector<T> values;
  values.reserve(rows.size());
  for (const SampleRow& row : rows) {
    values.push_back(static_cast<T>(pick(row)));
  }
  return values;
}

bool below_min_tokens(const SampleRow& row) {
  return row.total_len - row.prompt_len < row.sampling->min_tokens;
}

bool has_token_rules(const SampleRow& row) {
  return row.sampling->token_rules != nullptr;
}

bool changes_logits(const SampleRow& row) {
  const SamplingParams& sampling = *row.sampling;
  return sampling.repetition_penalty != 1.0F || sampling.frequency_penalty != 0.0F ||
         sampling.presence_penalty != 0.0F || !sampling.logit_bias.empty() ||
         below_min_tokens(row) || sampling.token_rules != nullptr;
}

/// The rows' biases, one after the other.
struct BiasEntries {
  std::vector<std::int32_t> start = {0};
  std::vector<std::int32_t> ids;
  std::vector<float> values;

  void add(TokenId id, float value) {
    ids.push_back(id);
    values.push_back(value);
  }
};

BiasEntries collect_bias(std::span<const SampleRow> rows) {
  BiasEntries bias;
  for (const SampleRow& row : rows) {
    for (const auto& [token, value] : row.sampling->logit_bias) {
      bias.add(token, value);
    }
    if (below_min_tokens(row)) {
      constexpr float kBan = -std::numeric_limits<float>::infinity();
      for (const TokenId token : row.eos_ids) {
        bias.add(token, kBan);
      }
      for (const TokenId token : row.sampling->stop_token_ids) {
        bias.add(token, kBan);
      }
    }
    bias.start.push_back(static_cast<std::int32_t>(bias.ids.size()));
  }
  return bias;
}

Status process(Stream& stream, const Tensor& logits, const Tensor& token_buffer,
               const Tensor& buffer_rows, std::span<const SampleRow> rows, Tensor& out) {
  const BiasEntries bias = collect_bias(rows);
  ProcessLogitsParams params;
  params.logits = logits;
  params.token_buffer = token_buffer;
  params.buffer_rows = buffer_rows;
  params.out = out;
  params.prompt_lens = TRY(upload(
      stream, column<std::int32_t>(rows, [](const SampleRow& row) { return row.prompt_len; })));
  params.total_lens = TRY(upload(
      stream, column<std::int32_t>(rows, [](const SampleRow& row) { return row.total_len; })));
  params.repetition = TRY(upload(stream, column<float>(rows, [](const SampleRow& row) {
                                   return row.sampling->repetition_penalty;
                                 })));
  params.frequency = TRY(upload(stream, column<float>(rows, [](const SampleRow& row) {
                                  return row.sampling->frequency_penalty;
                                })));
  params.presence = TRY(upload(stream, column<float>(rows, [](const SampleRow& row) {
                                 return row.sampling->presence_penalty;
                               })));
  params.bias_start = TRY(upload(stream, bias.start));
  params.bias_ids = TRY(upload(stream, bias.ids));
  params.bias_values = TRY(upload(stream, bias.values));
  return ops::process_logits(stream, params);
}

/// The rows' token rules, one after the other, as MaskLogitsParams wants them.
Status mask(Stream& stream, const Tensor& logits, const Tensor& token_buffer,
            const Tensor& buffer_rows, std::span<const SampleRow> rows) {
  std::vector<std::int32_t> allowed_start = {0};
  std::vector<std::int32_t> allowed_ids;
  std::vector<std::int32_t> ban_start = {0};
  std::vector<std::int32_t> ban_offsets = {0};
  std::vector<std::int32_t> ban_ids;
  for (const SampleRow& row : rows) {
    if (const TokenRules* rules = row.sampling->token_rules.get()) {
      allowed_ids.insert(allowed_ids.end(), rules->allowed.begin(), rules->allowed.end());
      for (const std::vector<TokenId>& sequence : rules->banned) {
        ban_ids.insert(ban_ids.end(), sequence.begin(), sequence.end());
        ban_offsets.push_back(static_cast<std::int32_t>(ban_ids.size()));
      }
    }
    allowed_start.push_back(static_cast<std::int32_t>(allowed_ids.size()));
    ban_start.push_back(static_cast<std::int32_t>(ban_offsets.size()) - 1);
  }
  MaskLogitsParams params;
  params.logits = logits;
  params.token_buffer = token_buffer;
  params.buffer_rows = buffer_rows;
  params.prompt_lens = TRY(upload(
      stream, column<std::int32_t>(rows, [](const SampleRow& row) { return row.prompt_len; })));
  params.total_lens = TRY(upload(
      stream, column<std::int32_t>(rows, [](const SampleRow& row) { return row.total_len; })));
  params.allowed_start = TRY(upload(stream, allowed_start));
  params.allowed_ids = TRY(upload(stream, allowed_ids));
  params.ban_start = TRY(upload(stream, ban_start));
  params.ban_offsets = TRY(upload(stream, ban_offsets));
  params.ban_ids = TRY(upload(stream, ban_ids));
  return ops::mask_logits(stream, params);
}

Status sample(Stream& stream, const Tensor& logits, std::span<const SampleRow> rows,
              Tensor& tokens) {
  SampleParams params;
  params.logits = logits;
  params.tokens = tokens;
  params.temperature = TRY(upload(
      stream, column<float>(rows, [](const SampleRow& row) { return row.sampling->temperature; })));
  params.top_k = TRY(upload(stream, column<std::int32_t>(rows, [](const SampleRow& row) {
                              return std::max(row.sampling->top_k, 0);
                            })));
  params.top_p = TRY(upload(
      stream, column<float>(rows, [](const SampleRow& row) { return row.sampling->top_p; })));
  params.min_p = TRY(upload(
      stream, column<float>(rows, [](const SampleRow& row) { return row.sampling->min_p; })));
  params.seeds = TRY(
      upload(stream, column<std::int64_t>(rows, [](const SampleRow& row) { return row.seed; })));
  // The position of the drawn token, so that a sequence draws the same after a preemption.
  params.steps = TRY(upload(
      stream, column<std::int64_t>(rows, [](const SampleRow& row) { return row.total_len; })));
  return ops::sample(stream, params);
}

/// The largest number of alternatives that a row asks for; nothing when none asks for logprobs.
std::optional<std::int32_t> widest_logprobs(std::span<const SampleRow> rows) {
  std::optional<std::int32_t> widest;
  for (const SampleRow& row : rows) {
    if (row.sampling->logprobs) {
      widest = std::max(widest.value_or(0), *row.sampling->logprobs);
    }
  }
  return widest;
}

/// Uploads the rows' lists as a matrix, short ones filled up with -1. Empty when all lists are.
Result<Tensor> upload_lists(Stream& stream, std::span<const std::span<const TokenId>> lists) {
  std::size_t width = 0;
  for (const std::span<const TokenId> list : lists) {
    width = std::max(width, list.size());
  }
  if (width == 0) {
    return Tensor();
  }
  std::vector<std::int32_t> ids(lists.size() * width, -1);
  for (std::size_t row = 0; row < lists.size(); ++row) {
    std::copy(lists[row].begin(), lists[row].end(),
              ids.begin() + static_cast<std::ptrdiff_t>(row * width));
  }
  return upload(stream, ids,
                {static_cast<std::int64_t>(lists.size()), static_cast<std::int64_t>(width)});
}

}  // namespace

Result<std::vector<DrawnToken>> draw_tokens(Stream& stream, Tensor& logits, Tensor& token_buffer,
                                            std::span<const SampleRow> rows) {
  Workspace::Scope scope(stream.workspace());
  const auto count = static_cast<std::int64_t>(rows.size());
  const Tensor buffer_rows = TRY(upload(
      stream, column<std::int32_t>(rows, [](const SampleRow& row) { return row.buffer_row; })));
  const std::optional<std::int32_t> top_n = widest_logprobs(rows);

  Tensor processed = logits;
  if (std::any_of(rows.begin(), rows.end(), changes_logits)) {
    if (top_n) {
      processed = TRY(stream.workspace().tensor(DType::kF32, {count, logits.dim(1)}));
    }
    TRY(process(stream, logits, token_buffer, buffer_rows, rows, processed));
    if (std::any_of(rows.begin(), rows.end(), has_token_rules)) {
      TRY(mask(stream, processed, token_buffer, buffer_rows, rows));
    }
  }
  Tensor tokens = TRY(stream.workspace().tensor(DType::kI32, {count}));
  TRY(sample(stream, processed, rows, tokens));

  const Tensor positions = TRY(upload(
      stream, column<std::int32_t>(rows, [](const SampleRow& row) { return row.total_len; })));
  TRY(ops::scatter_tokens(stream, {.tokens = tokens,
                                   .buffer_rows = buffer_rows,
                                   .positions = positions,
                                   .token_buffer = token_buffer}));
  std::vector<std::int32_t> host_tokens;
  TRY(download(stream, tokens, host_tokens));
  TRY(stream.synchronize());
  std::vector<DrawnToken> drawn(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    drawn[i].token = host_tokens[i];
  }
  if (top_n) {
    std::vector<std::span<const TokenId>> chosen;
    for (const SampleRow& row : rows) {
      chosen.emplace_back(row.sampling->logprob_token_ids);
    }
    std::vector<TokenLogprob> logprobs = TRY(read_logprobs(stream, logits, tokens, *top_n, chosen));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].sampling->logprobs) {
        const auto wanted = static_cast<std::size_t>(*rows[i].sampling->logprobs);
        if (chosen[i].empty()) {
          logprobs[i].top.resize(std::min(wanted, logprobs[i].top.size()));
        }
        drawn[i].logprob = std::move(logprobs[i]);
      }
    }
  }
  return drawn;
}

Result<std::vector<TokenLogprob>> read_logprobs(Stream& stream, const Tensor& logits,
                                                const Tensor& tokens, std::int32_t top_n,
                                                std::span<const std::span<const TokenId>> chosen) {
  Workspace::Scope scope(stream.workspace());
  const std::int64_t rows = logits.dim(0);
  CHECK(chosen.empty() || static_cast<std::int64_t>(chosen.size()) == rows);
  const std::int64_t width = std::min<std::int64_t>(top_n, logits.dim(1));
  TokenLogprobsParams params;
  params.logits = logits;
  params.tokens = tokens;
  params.logprobs = TRY(stream.workspace().tensor(DType::kF32, {rows}));
  params.ranks = TRY(stream.workspace().tensor(DType::kI32, {rows}));
  if (width > 0) {
    params.top_ids = TRY(stream.workspace().tensor(DType::kI32, {rows, width}));
    params.top_logprobs = TRY(stream.workspace().tensor(DType::kF32, {rows, width}));
  }
  params.chosen_ids = TRY(upload_lists(stream, chosen));
  const std::int64_t listed = params.chosen_ids.empty() ? 0 : params.chosen_ids.dim(1);
  if (listed > 0) {
    params.chosen_logprobs = TRY(stream.workspace().tensor(DType::kF32, {rows, listed}));
  }
  TRY(ops::token_logprobs(stream, params));

  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> ranks;
  std::vector<std::int32_t> top_ids;
  std::vector<float> logprobs;
  std::vector<float> top_logprobs;
  std::vector<float> chosen_logprobs;
  TRY(download(stream, tokens, ids));
  TRY(download(stream, params.logprobs, logprobs));
  TRY(download(stream, params.ranks, ranks));
  if (width > 0) {
    TRY(download(stream, params.top_ids, top_ids));
    TRY(download(stream, params.top_logprobs, top_logprobs));
  }
  if (listed > 0) {
    TRY(download(stream, params.chosen_logprobs, chosen_logprobs));
  }
  TRY(stream.synchronize());
  std::vector<TokenLogprob> result(static_cast<std::size_t>(rows));
  for (std::size_t row = 0; row < result.size(); ++row) {
    result[row] = {.token = ids[row], .logprob = logprobs[row], .rank = ranks[row], .top = {}};
    if (!chosen.empty() && !chosen[row].empty()) {
      for (std::size_t i = 0; i < chosen[row].size(); ++i) {
        const std::size_t at = row * static_cast<std::size_t>(listed) + i;
        result[row].top.emplace_back(chosen[row][i], chosen_logprobs[at]);
      }
      continue;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(width); ++i) {
      const std::size_t at = row * static_cast<std::size_t>(width) + i;
      result[row].top.emplace_back(top_ids[at], top_logprobs[at]);
    }
  }
  return result;
}

}  // namespace godwit
