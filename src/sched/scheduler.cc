#include "sched/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kv/kv_cache_spec.h"
#include "sched/stop_rules.h"

namespace godwit {

namespace {

Status check_at_least(std::string_view name, std::int64_t value, std::int64_t least) {
  if (value >= least) {
    return {};
  }
  return invalid_argument(std::string(name) + " is " + std::to_string(value),
                          "Use at least " + std::to_string(least) + ".");
}

}  // namespace

bool Scheduler::Earlier::operator()(const Sequence* a, const Sequence* b) const {
  if (by_priority && a->priority != b->priority) {
    return a->priority < b->priority;
  }
  return a->arrival < b->arrival;
}

Scheduler::Scheduler(const SchedulerOptions& options)
    : options_(options),
      cache_({.layout = options.cache,
              .enable_prefix_caching = options.enable_prefix_caching,
              .reserved_slabs =
                  options.cache.most_slabs(options.max_model_len, options.max_num_batched_tokens),
              .fingerprint = options.cache_fingerprint}),
      goes_first_{.by_priority = options.policy == SchedulingPolicy::kPriority},
      waiting_(goes_first_) {}

Result<Scheduler> Scheduler::create(const SchedulerOptions& options) {
  TRY(check_at_least("max_num_seqs", options.max_num_seqs, 1));
  TRY(check_at_least("max_num_batched_tokens", options.max_num_batched_tokens, 1));
  TRY(check_at_least("max_model_len", options.max_model_len, 2));
  TRY(check_at_least("block_size", options.cache.block_size, 1));
  TRY(check_at_least("the number of cache blocks", options.cache.num_slabs, 1));
  TRY(check_at_least("long_prefill_token_threshold", options.long_prefill_token_threshold, 0));
  if (!options.enable_chunked_prefill) {
    if (options.max_num_batched_tokens < options.max_model_len) {
      return invalid_argument(
          "without chunked prefill a prompt needs a step of its own, but max_num_batched_tokens "
          "is " +
              std::to_string(options.max_num_batched_tokens) + " and max_model_len is " +
              std::to_string(options.max_model_len),
          "Enable chunked prefill, raise max_num_batched_tokens or lower max_model_len.");
    }
    if (options.long_prefill_token_threshold > 0) {
      return invalid_argument("long_prefill_token_threshold is " +
                                  std::to_string(options.long_prefill_token_threshold) +
                                  ", but chunked prefill is off",
                              "Enable chunked prefill or leave the threshold at 0.");
    }
  }
  return Scheduler(options);
}

Status Scheduler::add(SequenceSpec spec) {
  CHECK(!sequences_.contains(spec.id));
  const auto prompt_len = static_cast<std::int64_t>(spec.prompt.size());
  if (prompt_len == 0) {
    return invalid_argument("the prompt has no tokens", "Send at least one.");
  }
  TRY(check_at_least("max_tokens", spec.sampling.max_tokens, 0));
  const std::int64_t longest = options_.max_model_len - (spec.sampling.max_tokens == 0 ? 0 : 1);
  if (prompt_len > longest) {
    return invalid_argument("the prompt has " + std::to_string(prompt_len) +
                                " tokens, but at most " + std::to_string(longest) +
                                " fit into max_model_len " +
                                std::to_string(options_.max_model_len) + " with an answer",
                            "Shorten the prompt.");
  }

  auto sequence = std::make_unique<Sequence>();
  sequence->id = spec.id;
  sequence->sampling = std::move(spec.sampling);
  sequence->seed = spec.seed;
  sequence->priority = spec.priority;
  sequence->leader = spec.leader;
  sequence->tokens = std::move(spec.prompt);
  sequence->prompt_len = prompt_len;
  sequence->max_len =
      prompt_len + std::min(sequence->sampling.max_tokens, options_.max_model_len - prompt_len);
  sequence->table = BlockTable(std::move(spec.cache_salt));

  const std::int64_t needed = num_slabs_for(sequence->max_positions());
  if (needed > options_.cache.num_slabs) {
    return invalid_argument(
        "a prompt of " + std::to_string(prompt_len) + " tokens with up to " +
            std::to_string(sequence->max_len - prompt_len) + " tokens of output needs " +
            std::to_string(static_cast<std::size_t>(needed) * options_.cache.slab_bytes()) +
            " bytes of cache, but there are " + std::to_string(options_.cache.bytes()),
        "Lower max_tokens, shorten the prompt, or give the server more cache memory.");
  }
  sequence->arrival = num_arrivals_++;
  waiting_.insert(sequence.get());
  const SequenceId id = sequence->id;
  sequences_.emplace(id, std::move(sequence));
  return {};
}

bool Scheduler::finish(SequenceId id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) {
    return false;
  }
  Sequence* const sequence = found->second.get();
  if (sequence->status == SequenceStatus::kWaiting) {
    waiting_.erase(sequence);
  } else {
    running_.erase(std::find(running_.begin(), running_.end(), sequence));
    dropped_.push_back(id);
  }
  cache_.free(sequence->table);
  sequences_.erase(found);
  return true;
}

ScheduledBatch Scheduler::schedule() {
  ScheduledBatch batch;
  batch.step = scheduled_step_ + 1;
  batch.dropped = std::move(dropped_);
  dropped_.clear();
  batch.sequences.reserve(running_.size());

  const bool preempted = schedule_running(batch);
  if (!preempted) {
    admit_waiting(batch);
  }
  if (batch.empty()) {
    dropped_ = std::move(batch.dropped);
    return {};
  }
  scheduled_step_ = batch.step;
  return batch;
}

std::int64_t Scheduler::clip_to_step(std::int64_t count, const ScheduledBatch& batch) const {
  if (options_.long_prefill_token_threshold > 0) {
    count = std::min(count, options_.long_prefill_token_threshold);
  }
  return std::min(count, options_.max_num_batched_tokens - batch.total_tokens);
}

bool Scheduler::schedule_running(ScheduledBatch& batch) {
  bool preempted = false;
  std::size_t next = 0;
  while (next < running_.size() && batch.total_tokens < options_.max_num_batched_tokens) {
    Sequence& sequence = *running_[next];
    const std::int64_t count = clip_to_step(sequence.num_schedulable(), batch);
    if (count == 0) {  // All it can do is in flight.
      ++next;
      continue;
    }
    std::optional<GroupBlocks> blocks =
        cache_.allocate_slots(sequence.table, {}, sequence.scheduled + count);
    if (blocks) {
      schedule_positions(sequence, count, *std::move(blocks), batch);
      ++next;
      continue;
    }
    // Tries again with the victim's blocks; if it is the victim itself, goes on with the next one.
    const std::size_t victim = pick_victim();
    if (victim == next && sequence.in_flight > 0) {
      ++next;  // Its own steps will release what leaves a window.
      continue;
    }
    preempt(*running_[victim], batch);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(victim));
    if (victim < next) {
      --next;
    }
    preempted = true;
  }
  return preempted;
}

std::size_t Scheduler::pick_victim() const {
  if (options_.policy == SchedulingPolicy::kFcfs) {
    return running_.size() - 1;
  }
  const auto last = std::max_element(running_.begin(), running_.end(), goes_first_);
  return static_cast<std::size_t>(last - running_.begin());
}

void Scheduler::preempt(Sequence& victim, ScheduledBatch& batch) {
  // It may have its place in this step already.
  const auto work = std::find_if(batch.sequences.rbegin(), batch.sequences.rend(),
                                 [&](const auto& entry) { return entry.id == victim.id; });
  if (work != batch.sequences.rend()) {
    batch.total_tokens -= work->count;
    batch.sequences.erase(std::next(work).base());
  }
  batch.dropped.push_back(victim.id);
  cache_.free(victim.table);
  victim.status = SequenceStatus::kWaiting;
  victim.scheduled = 0;
  victim.in_flight = 0;
  victim.pending_tokens = 0;
  ++victim.num_preemptions;
  ++num_preemptions_;
  waiting_.insert(&victim);
}

std::int64_t Scheduler::num_slabs_for(std::int64_t num_positions) const {
  return options_.cache.most_slabs(num_positions, options_.max_num_batched_tokens);
}

/// Adds the blocks that a running sequence takes before it asks for one that cannot be foreseen:
/// those of its known tokens, and one more.
void Scheduler::add_foreseen(const Sequence& sequence, BlockCounts& foreseen) const {
  const std::int64_t block_size = options_.cache.block_size;
  options_.cache.add_growth(sequence.settled(), sequence.table.num_blocks() * block_size,
                            std::min(sequence.num_known() + block_size, sequence.max_positions()),
                            options_.max_num_batched_tokens, foreseen);
}

/// A running leader is about to put whole blocks of this prompt into the prefix cache. It goes on
/// in every step, so the wait ends.
bool Scheduler::waits_for_leader(const Sequence& sequence) const {
  if (!sequence.leader || !options_.enable_prefix_caching || sequence.sampling.prompt_logprobs) {
    return false;
  }
  const Sequence* leader = find(*sequence.leader);
  // The last position of a prompt is always computed, so its block is never taken from the cache.
  const std::int64_t block_size = options_.cache.block_size;
  const std::int64_t shared = (sequence.prompt_len - 1) / block_size * block_size;
  return leader != nullptr && leader->status == SequenceStatus::kRunning &&
         leader->settled() < shared;
}

void Scheduler::admit_waiting(ScheduledBatch& batch) {
  // Admitting a sequence into blocks that running ones are about to need would only get it
  // preempted. With nothing running nothing is kept back, so a sequence that fits the pool always
  // gets in.
  BlockCounts foreseen(options_.cache.groups.size());
  if (!waiting_.empty()) {
    for (const Sequence* running : running_) {
      add_foreseen(*running, foreseen);
    }
  }
  num_deferred_ = 0;
  auto next = waiting_.begin();
  while (next != waiting_.end() && batch.total_tokens < options_.max_num_batched_tokens &&
         static_cast<std::int64_t>(running_.size()) < options_.max_num_seqs) {
    Sequence& sequence = **next;
    if (waits_for_leader(sequence)) {
      ++num_deferred_;
      ++next;
      continue;
    }
    // Log probabilities of the prompt need every position to be computed.
    const bool may_hit = !sequence.sampling.prompt_logprobs && !sequence.starts_afresh;
    const PrefixHit hit =
        may_hit ? cache_.find_prefix(sequence.table, sequence.tokens) : PrefixHit{};
    const std::int64_t wanted = sequence.num_schedulable() - hit.num_tokens;
    const std::int64_t count = clip_to_step(wanted, batch);
    if (count < wanted && !options_.enable_chunked_prefill) {
      break;
    }
    // Its later chunks must fit as well: prompts that start together but cannot end together would
    // preempt each other.
    const std::int64_t num_positions = hit.num_tokens + count;
    BlockCounts spare = foreseen;
    options_.cache.add_growth(hit.num_tokens, num_positions, sequence.num_tokens(),
                              options_.max_num_batched_tokens, spare);
    std::optional<GroupBlocks> blocks =
        cache_.allocate_slots(sequence.table, hit, num_positions, spare);
    if (!blocks) {
      if (running_.empty() && hit.num_tokens > 0) {
        sequence.starts_afresh = true;  // Alone and without a hit it fits.
        continue;
      }
      break;
    }
    next = waiting_.erase(next);
    running_.push_back(&sequence);
    sequence.status = SequenceStatus::kRunning;
    sequence.scheduled = hit.num_tokens;
    sequence.started_step = batch.step;
    if (sequence.cached_tokens < 0) {
      sequence.cached_tokens = hit.num_tokens;
      if (!sequence.sampling.prompt_logprobs && options_.enable_prefix_caching) {
        prefix_queries_ += sequence.prompt_len;
        prefix_hits_ += hit.num_tokens;
      }
    }
    batch.started.push_back({.id = sequence.id,
                             .tokens = sequence.tokens,
                             .prompt_len = sequence.prompt_len,
                             .sampling = sequence.sampling,
                             .seed = sequence.seed});
    schedule_positions(sequence, count, *std::move(blocks), batch);
    add_foreseen(sequence, foreseen);
  }
}

void Scheduler::schedule_positions(Sequence& sequence, std::int64_t count, GroupBlocks new_blocks,
                                   ScheduledBatch& batch) {
  const std::int64_t known = sequence.num_known();
  const bool samples = sequence.scheduled + count == known && known < sequence.max_len;
  batch.sequences.push_back({.id = sequence.id,
                             .start = sequence.scheduled,
                             .count = count,
                             .new_blocks = std::move(new_blocks),
                             .samples = samples,
                             .draft_tokens = {}});
  batch.total_tokens += count;
  sequence.scheduled += count;
  sequence.in_flight += count;
  sequence.pending_tokens += samples ? 1 : 0;
}

std::vector<SequenceUpdate> Scheduler::settle(const ScheduledBatch& batch,
                                              std::span<const SampledToken> tokens) {
  std::vector<SequenceUpdate> updates;
  if (batch.empty()) {
    return updates;
  }
  CHECK_EQ(batch.step, settled_step_ + 1);
  CHECK_LE(batch.step, scheduled_step_);
  settled_step_ = batch.step;
  updates.reserve(batch.sequences.size());
  std::size_t num_taken = 0;
  for (const ScheduledSequence& work : batch.sequences) {
    std::optional<TokenId> token;
    if (work.samples) {
      CHECK_LT(num_taken, tokens.size());
      CHECK(tokens[num_taken].id == work.id);
      token = tokens[num_taken++].token;
    }
    const auto found = sequences_.find(work.id);
    if (found == sequences_.end() || found->second->status != SequenceStatus::kRunning ||
        found->second->started_step > batch.step) {
      ++num_stale_results_;
      continue;
    }
    std::optional<SequenceUpdate> update = settle_sequence(*found->second, work, token);
    if (!update) {
      continue;
    }
    if (update->finish_reason) {
      finish(update->id);
    }
    updates.push_back(*std::move(update));
  }
  CHECK_EQ(num_taken, tokens.size());
  return updates;
}

std::optional<SequenceUpdate> Scheduler::settle_sequence(Sequence& sequence,
                                                         const ScheduledSequence& work,
                                                         std::optional<TokenId> token) {
  sequence.in_flight -= work.count;
  CHECK_GE(sequence.in_flight, 0);
  SequenceUpdate update{.id = sequence.id,
                        .token = token,
                        .finish_reason = std::nullopt,
                        .stop_token = std::nullopt,
                        .cached_tokens = sequence.cached_tokens};
  if (token) {
    --sequence.pending_tokens;
    CHECK_GE(sequence.pending_tokens, 0);
    sequence.tokens.push_back(*token);
    const std::optional<StopDecision> stop = check_stop(
        sequence.sampling, options_.eos_ids,
        std::span(sequence.tokens).subspan(static_cast<std::size_t>(sequence.prompt_len)),
        sequence.num_tokens(), options_.max_model_len);
    if (stop) {
      update.finish_reason = stop->reason;
      update.stop_token = stop->stop_token;
    }
  } else if (sequence.max_len == sequence.prompt_len && sequence.settled() == sequence.prompt_len) {
    update.finish_reason = FinishReason::kLength;
  }
  cache_.settle(sequence.table, sequence.tokens, sequence.settled());
  if (!update.token && !update.finish_reason) {
    return std::nullopt;
  }
  return update;
}

const Sequence* Scheduler::find(SequenceId id) const {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : found->second.get();
}

SchedulerStats Scheduler::stats() const {
  return {.running = static_cast<std::int64_t>(running_.size()),
          .waiting = static_cast<std::int64_t>(waiting_.size()),
          .deferred = std::min(num_deferred_, static_cast<std::int64_t>(waiting_.size())),
          .preemptions = num_preemptions_,
          .stale_results = num_stale_results_,
          .prefix_queries = prefix_queries_,
          .prefix_hits = prefix_hits_,
          .cache = cache_.stats()};
}

void Scheduler::check_invariants() const {
  cache_.check_invariants();
  CHECK_EQ(running_.size() + waiting_.size(), sequences_.size());
  CHECK_LE(static_cast<std::int64_t>(running_.size()), options_.max_num_seqs);
  std::vector<std::vector<std::int32_t>> holds;
  for (std::size_t group = 0; group < options_.cache.groups.size(); ++group) {
    holds.emplace_back(static_cast<std::size_t>(options_.cache.num_blocks(group)));
  }
  for (const Sequence* sequence : running_) {
    CHECK(find(sequence->id) == sequence);
    CHECK(sequence->status == SequenceStatus::kRunning);
    CHECK_GE(sequence->in_flight, 0);
    CHECK_GE(sequence->pending_tokens, 0);
    CHECK_LE(sequence->in_flight, sequence->scheduled);
    CHECK_LE(sequence->scheduled, sequence->max_positions());
    CHECK_EQ(sequence->table.num_blocks(),
             blocks_for(sequence->scheduled, options_.cache.block_size));
    CHECK_LE(sequence->table.num_committed() * options_.cache.block_size, sequence->settled());
    for (std::size_t group = 0; group < holds.size(); ++group) {
      const std::vector<BlockId>& blocks = sequence->table.blocks()[group];
      const std::int64_t first_kept =
          options_.cache.groups[group].retention.first_needed(sequence->settled()) /
          options_.cache.block_size;
      for (std::int64_t i = 0; i < sequence->table.num_blocks(); ++i) {
        const BlockId id = blocks[static_cast<std::size_t>(i)];
        if (options_.cache.groups[group].is_state()) {
          CHECK(i >= first_kept || id == kNoBlock);
          CHECK(i + 1 < sequence->table.num_blocks() || id != kNoBlock);
        } else {
          CHECK((id == kNoBlock) == (i < first_kept));
        }
        if (id != kNoBlock) {
          ++holds[group].at(static_cast<std::size_t>(id));
        }
      }
    }
  }
  for (const Sequence* sequence : waiting_) {
    CHECK(find(sequence->id) == sequence);
    CHECK(sequence->status == SequenceStatus::kWaiting);
    CHECK_EQ(sequence->table.num_blocks(), 0);
    CHECK_EQ(sequence->scheduled, 0);
    CHECK_EQ(sequence->in_flight, 0);
    CHECK_EQ(sequence->pending_tokens, 0);
  }
  for (std::size_t group = 0; group < holds.size(); ++group) {
    for (std::int64_t i = 0; i < options_.cache.num_blocks(group); ++i) {
      CHECK_EQ(cache_.pool().hold_count({group, static_cast<BlockId>(i)}, HoldReason::kRequest),
               holds[group][static_cast<std::size_t>(i)]);
    }
  }
}

}  // namespace godwit
