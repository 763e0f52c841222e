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

// How many blocks a running sequence takes before it asks for one that cannot be foreseen: those of
// its known tokens, and one more.
std::int64_t foreseen_blocks(const Sequence& sequence, std::int64_t block_size) {
  const std::int64_t positions =
      std::min(sequence.num_known() + block_size, sequence.max_positions());
  return blocks_for(positions, block_size) -
         static_cast<std::int64_t>(sequence.table.blocks().size());
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
      cache_({.num_blocks = options.num_blocks,
              .block_size = options.block_size,
              .enable_prefix_caching = options.enable_prefix_caching,
              .fingerprint = options.cache_fingerprint}),
      goes_first_{.by_priority = options.policy == SchedulingPolicy::kPriority},
      waiting_(goes_first_) {}

Result<Scheduler> Scheduler::create(const SchedulerOptions& options) {
  TRY(check_at_least("max_num_seqs", options.max_num_seqs, 1));
  TRY(check_at_least("max_num_batched_tokens", options.max_num_batched_tokens, 1));
  TRY(check_at_least("max_model_len", options.max_model_len, 2));
  TRY(check_at_least("block_size", options.block_size, 1));
  TRY(check_at_least("num_blocks", options.num_blocks, 1));
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

  const std::int64_t num_blocks = blocks_for(sequence->max_positions(), options_.block_size);
  if (num_blocks > options_.num_blocks) {
    return invalid_argument(
        "a prompt of " + std::to_string(prompt_len) + " tokens with up to " +
            std::to_string(sequence->max_len - prompt_len) + " tokens of output needs " +
            std::to_string(num_blocks) + " cache blocks of " + std::to_string(options_.block_size) +
            " tokens, but the cache has " + std::to_string(options_.num_blocks),
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
    std::optional<std::vector<BlockId>> blocks =
        cache_.allocate_slots(sequence.table, {}, sequence.scheduled + count);
    if (blocks) {
      schedule_positions(sequence, count, *std::move(blocks), batch);
      ++next;
      continue;
    }
    // Tries again with the victim's blocks; if it is the victim itself, goes on with the next one.
    const std::size_t victim = pick_victim();
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

/// A running leader is about to put whole blocks of this prompt into the prefix cache. It goes on
/// in every step, so the wait ends.
bool Scheduler::waits_for_leader(const Sequence& sequence) const {
  if (!sequence.leader || !options_.enable_prefix_caching || sequence.sampling.prompt_logprobs) {
    return false;
  }
  const Sequence* leader = find(*sequence.leader);
  // The last position of a prompt is always computed, so its block is never taken from the cache.
  const std::int64_t shared = (sequence.prompt_len - 1) / options_.block_size * options_.block_size;
  return leader != nullptr && leader->status == SequenceStatus::kRunning &&
         leader->settled() < shared;
}

void Scheduler::admit_waiting(ScheduledBatch& batch) {
  // Admitting a sequence into blocks that running ones are about to need would only get it
  // preempted. With nothing running nothing is kept back, so a sequence that fits the pool always
  // gets in.
  std::int64_t foreseen = 0;
  if (!waiting_.empty()) {
    for (const Sequence* running : running_) {
      foreseen += foreseen_blocks(*running, options_.block_size);
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
    const bool may_hit = !sequence.sampling.prompt_logprobs.has_value();
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
    const std::int64_t later_chunks = blocks_for(sequence.num_tokens(), options_.block_size) -
                                      blocks_for(num_positions, options_.block_size);
    std::optional<std::vector<BlockId>> blocks =
        cache_.allocate_slots(sequence.table, hit, num_positions, foreseen + later_chunks);
    if (!blocks) {
      break;
    }
    next = waiting_.erase(next);
    running_.push_back(&sequence);
    sequence.status = SequenceStatus::kRunning;
    sequence.scheduled = hit.num_tokens;
    sequence.started_step = batch.step;
    if (sequence.cached_tokens < 0) {
      sequence.cached_tokens = hit.num_tokens;
      if (may_hit && options_.enable_prefix_caching) {
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
    foreseen += foreseen_blocks(sequence, options_.block_size);
  }
}

void Scheduler::schedule_positions(Sequence& sequence, std::int64_t count,
                                   std::vector<BlockId> new_blocks, ScheduledBatch& batch) {
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
  cache_.commit(sequence.table, sequence.tokens, sequence.settled());
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
  std::vector<std::int32_t> holds(static_cast<std::size_t>(options_.num_blocks));
  for (const Sequence* sequence : running_) {
    CHECK(find(sequence->id) == sequence);
    CHECK(sequence->status == SequenceStatus::kRunning);
    CHECK_GE(sequence->in_flight, 0);
    CHECK_GE(sequence->pending_tokens, 0);
    CHECK_LE(sequence->in_flight, sequence->scheduled);
    CHECK_LE(sequence->scheduled, sequence->max_positions());
    CHECK_EQ(static_cast<std::int64_t>(sequence->table.blocks().size()),
             blocks_for(sequence->scheduled, options_.block_size));
    CHECK_LE(sequence->table.num_committed() * options_.block_size, sequence->settled());
    for (const BlockId id : sequence->table.blocks()) {
      ++holds.at(static_cast<std::size_t>(id));
    }
  }
  for (const Sequence* sequence : waiting_) {
    CHECK(find(sequence->id) == sequence);
    CHECK(sequence->status == SequenceStatus::kWaiting);
    CHECK(sequence->table.blocks().empty());
    CHECK_EQ(sequence->scheduled, 0);
    CHECK_EQ(sequence->in_flight, 0);
    CHECK_EQ(sequence->pending_tokens, 0);
  }
  for (std::int64_t i = 0; i < options_.num_blocks; ++i) {
    const auto id = static_cast<BlockId>(i);
    CHECK_EQ(cache_.pool().hold_count(id, HoldReason::kRequest),
             holds[static_cast<std::size_t>(i)]);
  }
}

}  // namespace godwit
