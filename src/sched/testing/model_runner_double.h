#pragma once
// A runner whose "keys and values" can be checked: each cache slot stores a digest of all tokens up
// to its position, as written by the step that computed it. Whatever a sequence attends to must
// then be the digest of its own tokens, so wrong sharing, an early free and a missing recomputation
// all show.

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sched/scheduler.h"

namespace godwit::testing {

/// Mixes a value into a digest (the finaliser of splitmix64).
inline std::uint64_t mix(std::uint64_t digest, std::uint64_t value) {
  digest += value + 0x9e3779b97f4a7c15U;
  digest = (digest ^ (digest >> 30U)) * 0xbf58476d1ce4e5b9U;
  digest = (digest ^ (digest >> 27U)) * 0x94d049bb133111ebU;
  return digest ^ (digest >> 31U);
}

/// Digest before the first token. The salt takes part, so that sharing across salts shows.
inline std::uint64_t start_digest(const std::string& salt) {
  std::uint64_t digest = 0;
  for (const char c : salt) {
    digest = mix(digest, static_cast<std::uint64_t>(c));
  }
  return digest;
}

/// The token that the model draws after a prefix.
inline TokenId draw(std::uint64_t digest, std::int64_t vocabulary) {
  return static_cast<TokenId>(mix(digest, 1) % static_cast<std::uint64_t>(vocabulary));
}

class RunnerDouble {
 public:
  RunnerDouble(std::int64_t num_blocks, std::int64_t block_size, std::int64_t vocabulary)
      : block_size_(block_size),
        vocabulary_(vocabulary),
        slots_(static_cast<std::size_t>(num_blocks * block_size)) {}

  /// The salt is not part of a batch, since the cache's content does not depend on it.
  void set_salt(SequenceId id, std::string salt) { salts_[id] = std::move(salt); }

  /// Runs a batch; every read is checked. Returns the drawn tokens.
  std::vector<SampledToken> execute(const ScheduledBatch& batch) {
    for (const SequenceId id : batch.dropped) {
      CHECK_EQ(states_.erase(id), 1U);
    }
    for (const StartedSequence& started : batch.started) {
      CHECK(!states_.contains(started.id));
      CHECK_LE(started.prompt_len, static_cast<std::int64_t>(started.tokens.size()));
      State state;
      state.digest_before = start_digest(salts_[started.id]);
      for (const TokenId token : started.tokens) {
        state.append(token);
      }
      states_.emplace(started.id, std::move(state));
    }
    // A layer writes the cache for the whole step before it reads it.
    for (const ScheduledSequence& work : batch.sequences) {
      write(states_.at(work.id), work, batch.step);
    }
    std::vector<SampledToken> drawn;
    for (const ScheduledSequence& work : batch.sequences) {
      State& state = states_.at(work.id);
      check_reads(state);
      if (work.samples) {
        CHECK_EQ(state.computed, static_cast<std::int64_t>(state.digests.size()));
        const TokenId token = draw(state.digests.back(), vocabulary_);
        state.append(token);
        drawn.push_back({.id = work.id, .token = token});
      }
    }
    return drawn;
  }

  /// The last step that wrote into the block; -1 if a slot of it was never written.
  [[nodiscard]] std::int64_t last_step(BlockId block) const {
    std::int64_t last = 0;
    for (std::int64_t offset = 0; offset < block_size_; ++offset) {
      const Slot& slot = slots_[static_cast<std::size_t>(first_slot(block) + offset)];
      if (!slot.written) {
        return -1;
      }
      last = std::max(last, slot.step);
    }
    return last;
  }

  [[nodiscard]] std::size_t num_sequences() const { return states_.size(); }

 private:
  struct Slot {
    std::uint64_t digest = 0;
    std::int64_t step = 0;
    bool written = false;
  };
  struct State {
    std::uint64_t digest_before = 0;
    std::vector<std::uint64_t> digests;  // One for each token.
    std::vector<BlockId> blocks;
    std::int64_t computed = 0;

    void append(TokenId token) {
      const std::uint64_t last = digests.empty() ? digest_before : digests.back();
      digests.push_back(mix(last, static_cast<std::uint64_t>(token) + 2));
    }
  };

  [[nodiscard]] std::int64_t first_slot(BlockId block) const {
    return static_cast<std::int64_t>(block) * block_size_;
  }
  Slot& slot_at(const State& state, std::int64_t position) {
    const BlockId block = state.blocks.at(static_cast<std::size_t>(position / block_size_));
    return slots_.at(static_cast<std::size_t>(first_slot(block) + position % block_size_));
  }

  void write(State& state, const ScheduledSequence& work, std::int64_t step) {
    const bool fresh = state.blocks.empty();
    const std::int64_t num_hit_blocks = fresh ? work.start / block_size_ : 0;
    for (std::size_t i = 0; i < work.new_blocks.size(); ++i) {
      state.blocks.push_back(work.new_blocks[i]);
      if (static_cast<std::int64_t>(i) >= num_hit_blocks) {
        poison(work.new_blocks[i]);
      }
    }
    if (fresh) {
      CHECK_EQ(work.start % block_size_, 0);
    } else {
      CHECK_EQ(work.start, state.computed);
    }
    CHECK_GE(work.count, 1);
    state.computed = work.start + work.count;
    CHECK_LE(state.computed, static_cast<std::int64_t>(state.digests.size()));
    CHECK_EQ(static_cast<std::int64_t>(state.blocks.size()),
             (state.computed + block_size_ - 1) / block_size_);
    for (std::int64_t position = work.start; position < state.computed; ++position) {
      slot_at(state, position) = {.digest = state.digests[static_cast<std::size_t>(position)],
                                  .step = step,
                                  .written = true};
    }
  }

  void poison(BlockId block) {
    for (std::int64_t offset = 0; offset < block_size_; ++offset) {
      slots_.at(static_cast<std::size_t>(first_slot(block) + offset)) = {};
    }
  }

  void check_reads(const State& state) {
    for (std::int64_t position = 0; position < state.computed; ++position) {
      const Slot& slot = slot_at(state, position);
      CHECK(slot.written);
      CHECK(slot.digest == state.digests[static_cast<std::size_t>(position)]);
    }
  }

  std::int64_t block_size_;
  std::int64_t vocabulary_;
  std::vector<Slot> slots_;
  std::unordered_map<SequenceId, State> states_;
  std::unordered_map<SequenceId, std::string> salts_;
};

}  // namespace godwit::testing
