#pragma once
// One stream of tokens and how far it has come.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "kv/block_table.h"
#include "request/sampling_params.h"

namespace godwit {

/// What the engine hands to Scheduler::add.
struct SequenceSpec {
  SequenceId id{};
  std::vector<TokenId> prompt;  ///< At least one token.
  SamplingParams sampling;
  std::int64_t seed = 0;      ///< Drawn or given; passed on to the runner.
  std::int32_t priority = 0;  ///< Lower runs earlier, under SchedulingPolicy::kPriority.
  std::string cache_salt;     ///< Sequences share cached prefixes only under the same salt.
  /// An earlier sequence with the same prompt and salt. While that one computes its prompt this one
  /// waits, so as to find it in the prefix cache.
  std::optional<SequenceId> leader;
};

enum class SequenceStatus : std::uint8_t {
  kWaiting,  ///< Holds no blocks; new, or preempted.
  kRunning,  ///< Holds blocks, and the runner knows it.
};

/// Three counters say where a sequence is: positions [0, scheduled) have been given to steps, those
/// of the last `in_flight` positions have not completed, and the keys and values of positions [0,
/// settled()) are certain to be in the cache. What is in flight may still be thrown away, so hashes
/// (and later transfers and frees) look at settled() alone.
struct Sequence {
  SequenceId id{};
  SamplingParams sampling;
  std::int64_t seed = 0;
  std::int32_t priority = 0;
  std::optional<SequenceId> leader;
  std::int64_t arrival = 0;  ///< Rank in order of arrival.
  SequenceStatus status = SequenceStatus::kWaiting;

  std::vector<TokenId> tokens;  ///< Prompt and settled output.
  std::int64_t prompt_len = 0;
  std::int64_t max_len = 0;  ///< Prompt and output are at most so long together.
  BlockTable table;

  std::int64_t scheduled = 0;
  std::int64_t in_flight = 0;
  /// Tokens drawn by steps in flight: they have a position, but no value yet.
  std::int64_t pending_tokens = 0;
  std::int64_t started_step = 0;  ///< Results of earlier steps are from before a preemption.

  std::int64_t num_preemptions = 0;
  /// It takes no prefix hit: blocks shared by others lie so far apart that its own would not fit.
  bool starts_afresh = false;
  std::int64_t cached_tokens =
      -1;  ///< Taken from the prefix cache at the first start; -1 before it.

  [[nodiscard]] std::int64_t settled() const { return scheduled - in_flight; }
  [[nodiscard]] std::int64_t num_tokens() const { return static_cast<std::int64_t>(tokens.size()); }
  [[nodiscard]] std::int64_t num_output_tokens() const { return num_tokens() - prompt_len; }

  /// Tokens that have a position: those with a value, and those in flight.
  [[nodiscard]] std::int64_t num_known() const { return num_tokens() + pending_tokens; }

  /// How many positions are computed in its whole life at most: not that of the very last token,
  /// since nothing is drawn after it.
  [[nodiscard]] std::int64_t max_positions() const;

  /// How many positions the next step could compute.
  [[nodiscard]] std::int64_t num_schedulable() const;
};

}  // namespace godwit
