#pragma once
// Plays a whole life of a scheduler from a stream of decisions: sequences arrive, share prefixes,
// are aborted and hit stop strings, while up to three batches are in flight in a pool that is too
// small. After each step the invariants of kv.md (I1 to I5, S1 to S10) must hold, every cache read
// must be right (RunnerDouble), and each output must equal what the model says without any
// scheduler. A violation aborts. The randomised test and the fuzzer share it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kv/kv_cache_spec.h"
#include "sched/scheduler.h"
#include "sched/testing/model_runner_double.h"

namespace godwit::testing {

/// Returns a number in [0, n).
using Choose = std::function<std::int64_t(std::int64_t n)>;

/// What happened, so that a test can prove that a combination was reached.
struct SimulationTotals {
  std::int64_t steps = 0;
  std::int64_t refused = 0;
  std::int64_t aborted = 0;
  std::int64_t stop_strings = 0;
  std::int64_t stopped = 0;
  std::int64_t full_length = 0;
  std::int64_t prompt_only = 0;
  std::int64_t preemptions = 0;
  std::int64_t victims_scheduled = 0;  ///< Steps that preempted and had several sequences.
  std::int64_t stale_results = 0;
  std::int64_t prefix_hits = 0;
  std::int64_t evictions = 0;
  std::int64_t chunks = 0;        ///< Shares of a step that ended inside known tokens.
  std::int64_t mixed_steps = 0;   ///< Steps with such a share and a drawn token.
  std::int64_t deep_steps = 0;    ///< Steps scheduled with another one in flight.
  std::int64_t released = 0;      ///< Sequences scheduled with blocks that had left a window.
  std::int64_t partial_hits = 0;  ///< Prefix hits of which a group needed the end alone.
  std::int64_t state_hits = 0;    ///< Prefix hits that began with a state.
  std::int64_t afresh = 0;        ///< Sequences preempted while alone.

  SimulationTotals& operator+=(const SimulationTotals& other);
};

inline bool has_gap(const GroupBlocks& blocks) {
  return std::any_of(blocks.begin(), blocks.end(), [](const std::vector<BlockId>& group) {
    return !group.empty() && group.front() == kNoBlock;
  });
}

class SchedulerSimulator {
 public:
  explicit SchedulerSimulator(Choose choose)
      : choose_(std::move(choose)),
        options_(choose_options()),
        depth_(1 + choose_(3)),
        num_left_(1 + choose_(10)),
        scheduler_(Scheduler::create(options_).value()),
        runner_(options_.cache, kVocabulary) {}

  /// Plays until every sequence has ended.
  SimulationTotals run() {
    // Far more than any scenario needs: what passes it makes no progress.
    constexpr std::int64_t kMostActions = 100'000;
    std::int64_t num_actions = 0;
    while (num_left_ > 0 || scheduler_.has_sequences() || !in_flight_.empty()) {
      CHECK_LT(num_actions, kMostActions);
      ++num_actions;
      act();
      scheduler_.check_invariants();
    }
    check_end();
    return totals_;
  }

 private:
  static constexpr std::int64_t kVocabulary = 6;
  static constexpr TokenId kEos = 5;

  struct Client {
    SequenceSpec spec;
    std::vector<TokenId> expected;  // The model's output without a scheduler.
    FinishReason expected_reason = FinishReason::kLength;
    std::optional<TokenId> expected_stop_token;
    std::int64_t stop_string_after =
        0;  // Output tokens after which a stop string is found; 0 = none.
    std::vector<TokenId> output;
    bool ended = false;
    std::int64_t cached_tokens = -1;
  };
  struct InFlight {
    ScheduledBatch batch;
    std::optional<std::vector<SampledToken>> drawn;  // Set once it was executed.
  };

  CacheLayout choose_layout();
  SchedulerOptions choose_options();
  SequenceSpec choose_spec();
  void choose_sampling(SamplingParams& sampling);
  void fill_expected(Client& client) const;
  void act();
  void add();
  void end_one_from_outside();
  bool schedule();
  void check_batch(const ScheduledBatch& batch);
  void check_started(const ScheduledBatch& batch);
  void execute_up_to(std::size_t count);
  void settle();
  void take_update(const SequenceUpdate& update);
  void check_end();

  Choose choose_;
  SchedulerOptions options_;
  std::int64_t depth_;
  std::int64_t num_left_;
  Scheduler scheduler_;
  RunnerDouble runner_;
  std::deque<InFlight> in_flight_;
  std::unordered_map<SequenceId, Client> clients_;
  std::vector<SequenceId> live_;
  std::optional<SequenceSpec> last_spec_;
  std::int64_t next_id_ = 0;
  std::int64_t settled_step_ = 0;
  SimulationTotals totals_;
};

inline SimulationTotals& SimulationTotals::operator+=(const SimulationTotals& other) {
  steps += other.steps;
  refused += other.refused;
  aborted += other.aborted;
  stop_strings += other.stop_strings;
  stopped += other.stopped;
  full_length += other.full_length;
  prompt_only += other.prompt_only;
  preemptions += other.preemptions;
  victims_scheduled += other.victims_scheduled;
  stale_results += other.stale_results;
  prefix_hits += other.prefix_hits;
  evictions += other.evictions;
  chunks += other.chunks;
  mixed_steps += other.mixed_steps;
  deep_steps += other.deep_steps;
  released += other.released;
  partial_hits += other.partial_hits;
  state_hits += other.state_hits;
  return *this;
}

/// Room for one or two sequences of average length, so that blocks run out often.
inline CacheLayout SchedulerSimulator::choose_layout() {
  const std::int64_t block_size = 1 + choose_(5);
  const std::int64_t num_blocks = blocks_for(8 + choose_(50), block_size);
  CacheLayout layout = CacheLayout::single(num_blocks, block_size);
  if (choose_(2) == 0) {
    return layout;
  }
  layout.slab_units = 12;
  layout.groups.clear();
  layout.num_slabs = 0;
  const std::int64_t num_groups = 1 + choose_(3);
  for (std::int64_t group = 0; group < num_groups; ++group) {
    const std::int64_t size = 1 + choose_(12);
    const std::array<Retention, 4> retentions = {Retention::all(), Retention::window(size),
                                                 Retention::chunk(size), Retention::state()};
    const std::int64_t blocks_per_slab = 1 + choose_(4);
    layout.groups.push_back({.retention = retentions.at(static_cast<std::size_t>(choose_(4))),
                             .block_units = 12 / blocks_per_slab,
                             .blocks_per_slab = blocks_per_slab,
                             .state_spacing = 1 + choose_(4)});
    layout.num_slabs += blocks_for(num_blocks, blocks_per_slab);
  }
  return layout;
}

inline SchedulerOptions SchedulerSimulator::choose_options() {
  SchedulerOptions options;
  options.cache = choose_layout();
  options.max_model_len = choose_(4) == 0 ? 2 + choose_(20) : 20 + choose_(40);
  options.max_num_seqs = 1 + choose_(7);
  options.max_num_batched_tokens = 1 + choose_(30);
  options.policy = choose_(2) == 0 ? SchedulingPolicy::kFcfs : SchedulingPolicy::kPriority;
  options.enable_prefix_caching = choose_(5) != 0;
  options.enable_chunked_prefill = choose_(5) != 0;
  if (options.enable_chunked_prefill) {
    options.long_prefill_token_threshold = choose_(3) == 0 ? 1 + choose_(6) : 0;
  } else {
    options.max_num_batched_tokens += options.max_model_len;
  }
  options.eos_ids = {kEos};
  return options;
}

inline void SchedulerSimulator::choose_sampling(SamplingParams& sampling) {
  sampling.max_tokens = choose_(3) == 0 ? choose_(4) : choose_(40);
  sampling.ignore_eos = choose_(4) != 0;
  if (choose_(4) == 0) {
    sampling.min_tokens = choose_(sampling.max_tokens + 1);
  }
  if (choose_(4) == 0) {
    sampling.stop_token_ids = {static_cast<TokenId>(choose_(2 * kVocabulary))};
  }
  if (choose_(8) == 0) {
    sampling.prompt_logprobs = 0;
  }
}

inline SequenceSpec SchedulerSimulator::choose_spec() {
  SequenceSpec spec;
  if (last_spec_ && choose_(3) == 0) {
    spec = *last_spec_;  // As with n > 1.
    spec.leader = last_spec_->leader.value_or(last_spec_->id);
  } else {
    // Two stems, so that prefixes are shared up to any point.
    const std::int64_t stem = choose_(2);
    const std::int64_t num_shared = choose_(2) == 0 ? choose_(20) : 0;
    for (std::int64_t i = 0; i < num_shared; ++i) {
      spec.prompt.push_back(static_cast<TokenId>((stem * 3 + i * i) % kVocabulary));
    }
    const std::int64_t num_own = 1 + choose_(6);
    for (std::int64_t i = 0; i < num_own; ++i) {
      spec.prompt.push_back(static_cast<TokenId>(choose_(kVocabulary)));
    }
    const std::int64_t salt = choose_(6);
    spec.cache_salt = salt < 4 ? "" : std::to_string(salt);
    choose_sampling(spec.sampling);
  }
  spec.priority = static_cast<std::int32_t>(choose_(3));
  spec.id = static_cast<SequenceId>(next_id_++);
  spec.seed = next_id_;
  return spec;
}

inline void SchedulerSimulator::fill_expected(Client& client) const {
  const SamplingParams& sampling = client.spec.sampling;
  std::uint64_t digest = start_digest(client.spec.cache_salt);
  for (const TokenId token : client.spec.prompt) {
    digest = mix(digest, static_cast<std::uint64_t>(token) + 2);
  }
  const std::int64_t room =
      options_.max_model_len - static_cast<std::int64_t>(client.spec.prompt.size());
  const std::int64_t most = std::min(sampling.max_tokens, room);
  while (static_cast<std::int64_t>(client.expected.size()) < most) {
    const TokenId token = draw(digest, kVocabulary);
    client.expected.push_back(token);
    digest = mix(digest, static_cast<std::uint64_t>(token) + 2);
    if (static_cast<std::int64_t>(client.expected.size()) < sampling.min_tokens) {
      continue;
    }
    if (token == kEos && !sampling.ignore_eos) {
      client.expected_reason = FinishReason::kStop;
      return;
    }
    if (!sampling.stop_token_ids.empty() && token == sampling.stop_token_ids.front()) {
      client.expected_reason = FinishReason::kStop;
      client.expected_stop_token = token;
      return;
    }
  }
}

inline void SchedulerSimulator::act() {
  const std::int64_t action = choose_(10);
  if (action == 9 && !live_.empty() && choose_(8) == 0) {
    end_one_from_outside();
  } else if (action >= 7 && num_left_ > 0) {
    add();
  } else if (action == 6 && !in_flight_.empty()) {
    execute_up_to(1 +
                  static_cast<std::size_t>(choose_(static_cast<std::int64_t>(in_flight_.size()))));
  } else if (action >= 4 && !in_flight_.empty()) {
    settle();
  } else if (static_cast<std::int64_t>(in_flight_.size()) == depth_ || !schedule()) {
    if (!in_flight_.empty()) {
      settle();
    } else if (num_left_ > 0) {
      add();
    }
  }
}

inline void SchedulerSimulator::add() {
  --num_left_;
  Client client;
  client.spec = choose_spec();
  last_spec_ = client.spec;
  client.stop_string_after = choose_(8) == 0 ? 1 + choose_(12) : 0;
  fill_expected(client);

  const auto prompt_len = static_cast<std::int64_t>(client.spec.prompt.size());
  const std::int64_t room = std::max<std::int64_t>(0, options_.max_model_len - prompt_len);
  const std::int64_t output = std::min(client.spec.sampling.max_tokens, room);
  const std::int64_t positions = prompt_len + std::max<std::int64_t>(0, output - 1);
  const std::int64_t least_output = client.spec.sampling.max_tokens == 0 ? 0 : 1;
  const bool fits = prompt_len + least_output <= options_.max_model_len &&
                    options_.cache.most_slabs(positions, options_.max_num_batched_tokens) <=
                        options_.cache.num_slabs;
  const Status status = scheduler_.add(client.spec);
  CHECK(status.ok() == fits);
  if (!fits) {
    ++totals_.refused;
    return;
  }
  const SequenceId id = client.spec.id;
  runner_.set_salt(id, client.spec.cache_salt);
  live_.push_back(id);
  clients_.emplace(id, std::move(client));
}

inline void SchedulerSimulator::end_one_from_outside() {
  const SequenceId id =
      live_[static_cast<std::size_t>(choose_(static_cast<std::int64_t>(live_.size())))];
  CHECK(scheduler_.finish(id));
  CHECK(!scheduler_.finish(id));
  clients_.at(id).ended = true;
  std::erase(live_, id);
  ++totals_.aborted;
}

inline bool SchedulerSimulator::schedule() {
  const std::int64_t preemptions = scheduler_.stats().preemptions;
  ScheduledBatch batch = scheduler_.schedule();
  if (batch.empty()) {
    CHECK(batch.dropped.empty() && batch.started.empty());
    // S9: what waits for nothing must go on.
    CHECK(!in_flight_.empty() || !scheduler_.has_sequences());
    return false;
  }
  check_batch(batch);
  ++totals_.steps;
  totals_.deep_steps += in_flight_.empty() ? 0 : 1;
  if (scheduler_.stats().preemptions > preemptions) {
    CHECK(batch.started.empty());
    totals_.victims_scheduled += batch.sequences.size() > 1 ? 1 : 0;
  }
  in_flight_.push_back({.batch = std::move(batch), .drawn = std::nullopt});
  return true;
}

inline void SchedulerSimulator::check_batch(const ScheduledBatch& batch) {
  std::int64_t total = 0;
  bool chunk = false;
  bool samples = false;
  std::unordered_set<SequenceId> seen;
  for (const ScheduledSequence& work : batch.sequences) {
    CHECK(seen.insert(work.id).second);
    CHECK_GE(work.count, 1);
    total += work.count;
    const Sequence* sequence = scheduler_.find(work.id);
    CHECK(sequence != nullptr && sequence->status == SequenceStatus::kRunning);  // S3
    CHECK_EQ(work.start + work.count, sequence->scheduled);
    if (options_.long_prefill_token_threshold > 0) {
      CHECK_LE(work.count, options_.long_prefill_token_threshold);
    }
    const bool reaches_end =
        work.start + work.count == sequence->num_known() - (work.samples ? 1 : 0);
    CHECK(reaches_end || options_.enable_chunked_prefill);
    chunk = chunk || !reaches_end;
    samples = samples || work.samples;
    // Blocks that the step writes are its own.
    const BlockTable& table = sequence->table;
    totals_.released += has_gap(table.blocks()) ? 1 : 0;
    for (std::size_t group = 0; group < table.blocks().size(); ++group) {
      for (std::int64_t i = work.start / options_.cache.block_size; i < table.num_blocks(); ++i) {
        const BlockRef block = {group, table.blocks()[group][static_cast<std::size_t>(i)]};
        if (block.id == kNoBlock) {
          CHECK(options_.cache.groups[group].is_state());
          continue;
        }
        CHECK_EQ(scheduler_.cache().pool().hold_count(block, HoldReason::kRequest), 1);
        CHECK(!scheduler_.cache().pool().is_cached(block));
      }
    }
  }
  CHECK_EQ(total, batch.total_tokens);
  CHECK_LE(total, options_.max_num_batched_tokens);  // S1
  totals_.chunks += chunk ? 1 : 0;
  totals_.mixed_steps += chunk && samples ? 1 : 0;
  check_started(batch);
}

inline void SchedulerSimulator::check_started(const ScheduledBatch& batch) {
  for (const StartedSequence& started : batch.started) {
    const auto work = std::find_if(batch.sequences.begin(), batch.sequences.end(),
                                   [&](const auto& entry) { return entry.id == started.id; });
    CHECK(work != batch.sequences.end());
    const Client& client = clients_.at(started.id);
    std::vector<TokenId> tokens = client.spec.prompt;
    tokens.insert(tokens.end(), client.output.begin(), client.output.end());
    CHECK(started.tokens == tokens);
    CHECK(started.seed == client.spec.seed);
    CHECK_EQ(started.prompt_len, static_cast<std::int64_t>(client.spec.prompt.size()));
    CHECK_LT(work->start, static_cast<std::int64_t>(tokens.size()));
    if (!options_.enable_prefix_caching || client.spec.sampling.prompt_logprobs) {
      CHECK_EQ(work->start, 0);
    }
    // S7: only what completed steps wrote may be shared.
    totals_.partial_hits += has_gap(work->new_blocks) ? 1 : 0;
    for (std::size_t group = 0; group < work->new_blocks.size(); ++group) {
      totals_.state_hits += work->start > 0 && options_.cache.groups[group].is_state() ? 1 : 0;
      for (std::int64_t i = 0; i < work->start / options_.cache.block_size; ++i) {
        const BlockId block = work->new_blocks[group].at(static_cast<std::size_t>(i));
        if (block != kNoBlock) {
          const std::int64_t step = runner_.last_step(group, block);
          CHECK(step >= 1 && step <= settled_step_);
        }
      }
    }
  }
}

inline void SchedulerSimulator::execute_up_to(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!in_flight_[i].drawn) {
      in_flight_[i].drawn = runner_.execute(in_flight_[i].batch);
    }
  }
}

inline void SchedulerSimulator::settle() {
  execute_up_to(1);
  const InFlight done = std::move(in_flight_.front());
  in_flight_.pop_front();
  settled_step_ = done.batch.step;
  for (const SequenceUpdate& update : scheduler_.settle(done.batch, *done.drawn)) {
    take_update(update);
  }
}

inline void SchedulerSimulator::take_update(const SequenceUpdate& update) {
  Client& client = clients_.at(update.id);
  CHECK(!client.ended);
  if (update.token) {
    CHECK_LT(client.output.size(), client.expected.size());
    CHECK_EQ(*update.token, client.expected[client.output.size()]);  // S10
    client.output.push_back(*update.token);
  }
  CHECK_GE(update.cached_tokens, 0);
  CHECK(client.cached_tokens < 0 || client.cached_tokens == update.cached_tokens);
  client.cached_tokens = update.cached_tokens;

  const bool complete = client.output.size() == client.expected.size();
  CHECK(update.finish_reason.has_value() == complete);
  if (complete) {
    CHECK(*update.finish_reason == client.expected_reason);
    CHECK(update.stop_token == client.expected_stop_token);
    totals_.stopped += client.expected_reason == FinishReason::kStop ? 1 : 0;
    totals_.full_length += client.expected_reason == FinishReason::kLength ? 1 : 0;
    totals_.prompt_only += client.expected.empty() ? 1 : 0;
    CHECK(!scheduler_.finish(update.id));
  } else if (client.stop_string_after > 0 &&
             static_cast<std::int64_t>(client.output.size()) >= client.stop_string_after) {
    CHECK(scheduler_.finish(update.id));
    ++totals_.stop_strings;
  } else {
    return;
  }
  client.ended = true;
  std::erase(live_, update.id);
}

inline void SchedulerSimulator::check_end() {
  CHECK(live_.empty());
  for (const auto& [id, client] : clients_) {
    CHECK(client.ended);
  }
  const SchedulerStats stats = scheduler_.stats();
  CHECK_EQ(stats.running + stats.waiting, 0);
  CHECK_EQ(stats.cache.num_free_units, stats.cache.num_units);
  CHECK_LE(stats.prefix_hits, stats.prefix_queries);
  totals_.preemptions = stats.preemptions;
  totals_.stale_results = stats.stale_results;
  totals_.prefix_hits = stats.prefix_hits;
  totals_.evictions = stats.cache.evictions;
}

}  // namespace godwit::testing
