#pragma once
// Decides what each step computes. Pure: no clock, thread, I/O or randomness; the same calls give
// the same batches.
//
// There is no prefill or decode phase: a step brings the computed positions of a sequence closer to
// its known tokens, within a budget of tokens. Running sequences come first, then waiting ones are
// admitted (only in a step that preempted nobody). When blocks run out, the sequence that is last
// in order loses its blocks, keeps its tokens and waits to be computed again; the first in order
// never does, so there is always progress.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "kv/kv_cache_manager.h"
#include "request/request.h"
#include "sched/scheduled_batch.h"
#include "sched/sequence.h"

namespace godwit {

enum class SchedulingPolicy : std::uint8_t {
  kFcfs,      ///< First come, first served.
  kPriority,  ///< Lower priority value first, then first come.
};

/// Names and meaning are vLLM's.
struct SchedulerOptions {
  std::int64_t max_num_seqs = 256;             ///< Running sequences.
  std::int64_t max_num_batched_tokens = 2048;  ///< Tokens of a step.
  std::int64_t max_model_len = 0;              ///< Tokens of a prompt with its output.
  CacheLayout cache;
  SchedulingPolicy policy = SchedulingPolicy::kFcfs;
  bool enable_prefix_caching = true;
  bool enable_chunked_prefill = true;
  std::int64_t long_prefill_token_threshold =
      0;  ///< A sequence's tokens in one step; 0 = no limit.
  std::vector<TokenId> eos_ids;
  std::string cache_fingerprint;  ///< Names the model and its cache layout, see root_hash().
};

/// A token that the runner drew.
struct SampledToken {
  SequenceId id{};
  TokenId token = 0;
};

/// What a completed step means for one sequence: a token, an end, or both.
struct SequenceUpdate {
  SequenceId id{};
  std::optional<TokenId> token;  ///< Absent only at the end of a sequence with max_tokens = 0.
  std::optional<FinishReason> finish_reason;
  std::optional<TokenId> stop_token;  ///< The one of stop_token_ids that ended it.
  std::int64_t cached_tokens = 0;     ///< Prompt tokens taken from the prefix cache.
};

struct SchedulerStats {
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t deferred = 0;     ///< Of the waiting: those that the last step left for a leader.
  std::int64_t preemptions = 0;  ///< So far.
  std::int64_t stale_results =
      0;  ///< Results ignored, since their sequence had ended or was preempted.
  std::int64_t prefix_queries = 0;  ///< Prompt tokens looked up in the prefix cache so far.
  std::int64_t prefix_hits = 0;     ///< Of those, tokens found.
  KvCacheStats cache;
};

/// Owns the sequences from add() to their end. One thread calls it.
///
/// The engine calls schedule(), has the runner execute the batch, and hands the drawn tokens to
/// settle(). It may schedule further batches before it settles the first; batches are executed and
/// settled in the order in which they were scheduled.
class Scheduler {
 public:
  /// Errors: kInvalidArgument names the option, its value and what is needed.
  static Result<Scheduler> create(const SchedulerOptions& options);

  /// Queues a sequence. Errors: kInvalidArgument if it could never run to its end, with the
  /// numbers.
  Status add(SequenceSpec spec);

  /// Ends a sequence from outside: its client left, a stop string was found, a fault. Its result in
  /// steps in flight is ignored. Returns false if there is no such sequence (it may just have
  /// ended).
  bool finish(SequenceId id);

  /// Picks the next step. An empty batch need be neither executed nor settled: nothing can be
  /// computed until a batch in flight is settled or a sequence is added.
  ScheduledBatch schedule();

  /// Takes in the tokens of a completed batch: one for each of its sequences that samples, in their
  /// order. Returns an update for each sequence that got a token or ended. Results of sequences
  /// that have ended or were preempted since are ignored; a preempted one draws the token again.
  std::vector<SequenceUpdate> settle(const ScheduledBatch& batch,
                                     std::span<const SampledToken> tokens);

  /// Whether any sequence is running or waiting.
  [[nodiscard]] bool has_sequences() const { return !sequences_.empty(); }
  [[nodiscard]] SchedulerStats stats() const;

  // For tests and debugging.
  [[nodiscard]] const Sequence* find(SequenceId id) const;
  [[nodiscard]] std::span<Sequence* const> running() const { return running_; }
  [[nodiscard]] const KvCacheManager& cache() const { return cache_; }
  /// Aborts unless queues, counters, block tables and pool agree (kv.md I1 to I5, S2 to S7).
  void check_invariants() const;

 private:
  /// Who goes first: by priority under that policy, then by arrival. A preempted sequence arrived
  /// before all that never ran, so it waits at their front.
  struct Earlier {
    bool by_priority = false;
    bool operator()(const Sequence* a, const Sequence* b) const;
  };

  explicit Scheduler(const SchedulerOptions& options);

  bool schedule_running(ScheduledBatch& batch);
  void admit_waiting(ScheduledBatch& batch);
  [[nodiscard]] bool waits_for_leader(const Sequence& sequence) const;
  [[nodiscard]] std::int64_t clip_to_step(std::int64_t count, const ScheduledBatch& batch) const;
  void schedule_positions(Sequence& sequence, std::int64_t count, GroupBlocks new_blocks,
                          ScheduledBatch& batch);
  [[nodiscard]] std::int64_t num_slabs_for(std::int64_t num_positions) const;
  void add_foreseen(const Sequence& sequence, BlockCounts& foreseen) const;
  [[nodiscard]] std::size_t pick_victim() const;
  void preempt(Sequence& victim, ScheduledBatch& batch);
  std::optional<SequenceUpdate> settle_sequence(Sequence& sequence, const ScheduledSequence& work,
                                                std::optional<TokenId> token);

  SchedulerOptions options_;
  KvCacheManager cache_;
  Earlier goes_first_;
  std::unordered_map<SequenceId, std::unique_ptr<Sequence>> sequences_;
  std::vector<Sequence*> running_;  // In order of admission.
  std::set<Sequence*, Earlier> waiting_;
  std::vector<SequenceId> dropped_;  // To be told to the runner with the next batch.
  std::int64_t num_arrivals_ = 0;
  std::int64_t scheduled_step_ = 0;  // The last one handed out.
  std::int64_t settled_step_ = 0;
  std::int64_t num_deferred_ = 0;  // Of the last step.
  std::int64_t num_preemptions_ = 0;
  std::int64_t num_stale_results_ = 0;
  std::int64_t prefix_queries_ = 0;
  std::int64_t prefix_hits_ = 0;
};

}  // namespace godwit
