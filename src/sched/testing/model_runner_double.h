#pragma once
// A runner whose "keys and values" can be checked: each cache slot stores a digest of all tokens up
// to its position, as written by the step that computed it. Whatever a sequence attends to must
// then be the digest of its own tokens, so wrong sharing, an early free and a missing recomputation
// all show.

#include <algorithm>
#include <cstdint>
#include <optional>
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
  RunnerDouble(CacheLayout layout, std::int64_t vocabulary)
      : layout_(std::move(layout)), block_size_(layout_.block_size), vocabulary_(vocabulary) {
    for (std::size_t group = 0; group < layout_.groups.size(); ++group) {
      slots_.emplace_back(static_cast<std::size_t>(layout_.num_blocks(group) * block_size_));
    }
    owners_.resize(static_cast<std::size_t>(layout_.num_slabs * layout_.slab_units));
  }

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
    for (const ScheduledSequence& work : batch.sequences) {
      begin(states_.at(work.id), work);
    }
    check_states(batch);
    // A layer writes the cache for the whole step before it reads it.
    for (const ScheduledSequence& work : batch.sequences) {
      write(states_.at(work.id), work, batch.step);
    }
    std::vector<SampledToken> drawn;
    for (const ScheduledSequence& work : batch.sequences) {
      State& state = states_.at(work.id);
      check_reads(state, work.start);
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
  [[nodiscard]] std::int64_t last_step(std::size_t group, BlockId block) const {
    std::int64_t last = 0;
    const std::int64_t num_slots = layout_.groups[group].is_state() ? 1 : block_size_;
    for (std::int64_t offset = 0; offset < num_slots; ++offset) {
      const Slot& slot = slots_[group].at(slot_index(block, offset));
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
    GroupBlocks blocks;
    std::int64_t computed = 0;

    void append(TokenId token) {
      const std::uint64_t last = digests.empty() ? digest_before : digests.back();
      digests.push_back(mix(last, static_cast<std::uint64_t>(token) + 2));
    }
  };

  [[nodiscard]] std::size_t slot_index(BlockId block, std::int64_t offset) const {
    return static_cast<std::size_t>(static_cast<std::int64_t>(block) * block_size_ + offset);
  }
  [[nodiscard]] std::size_t block_of(std::int64_t position) const {
    return static_cast<std::size_t>(position / block_size_);
  }
  Slot& slot_at(const State& state, std::size_t group, std::int64_t position) {
    const BlockId block = state.blocks[group].at(block_of(position));
    CHECK(block != kNoBlock);
    return slots_[group].at(slot_index(block, position % block_size_));
  }

  /// Takes in the blocks of a step.
  void begin(State& state, const ScheduledSequence& work) {
    const bool fresh = state.blocks.empty();
    const std::int64_t num_hit_blocks = fresh ? work.start / block_size_ : 0;
    if (fresh) {
      CHECK_EQ(work.start % block_size_, 0);
    } else {
      CHECK_EQ(work.start, state.computed);
    }
    CHECK_GE(work.count, 1);
    state.computed = work.start + work.count;
    CHECK_LE(state.computed, static_cast<std::int64_t>(state.digests.size()));
    state.blocks.resize(layout_.groups.size());
    CHECK_EQ(work.new_blocks.size(), layout_.groups.size());
    for (std::size_t group = 0; group < layout_.groups.size(); ++group) {
      std::vector<BlockId>& blocks = state.blocks[group];
      // A state that a sequence may change goes on with it.
      const BlockId source =
          fresh || work.start == 0 ? kNoBlock : blocks.at(block_of(work.start - 1));
      for (std::size_t i = 0; i < work.new_blocks[group].size(); ++i) {
        const BlockId block = work.new_blocks[group][i];
        if (static_cast<std::int64_t>(i) >= num_hit_blocks && block != kNoBlock &&
            block != source) {
          take_over({group, block});
        }
        blocks.push_back(block);
      }
      CHECK_EQ(static_cast<std::int64_t>(blocks.size()),
               (state.computed + block_size_ - 1) / block_size_);
    }
  }

  /// Steps of sequences run side by side: each must find its state, and none may write into the
  /// state that another one begins with.
  void check_states(const ScheduledBatch& batch) {
    for (std::size_t group = 0; group < layout_.groups.size(); ++group) {
      if (!layout_.groups[group].is_state()) {
        continue;
      }
      std::unordered_map<BlockId, SequenceId> sources;
      for (const ScheduledSequence& work : batch.sequences) {
        if (work.start == 0) {
          continue;
        }
        const State& state = states_.at(work.id);
        const BlockId block = state.blocks[group].at(block_of(work.start - 1));
        CHECK(block != kNoBlock);
        const Slot& slot = slots_[group].at(slot_index(block, 0));
        CHECK(slot.written);
        CHECK(slot.digest == state.digests[static_cast<std::size_t>(work.start - 1)]);
        const BlockRef ref = {group, block};
        for_units_of(ref, [&](const std::optional<BlockRef>& owner) { CHECK(owner == ref); });
        sources.emplace(block, work.id);
      }
      for (const ScheduledSequence& work : batch.sequences) {
        const State& state = states_.at(work.id);
        for (std::size_t i = block_of(work.start); i < state.blocks[group].size(); ++i) {
          const auto source = sources.find(state.blocks[group][i]);
          CHECK(source == sources.end() || source->second == work.id);
        }
      }
    }
  }

  void write(const State& state, const ScheduledSequence& work, std::int64_t step) {
    for (std::size_t group = 0; group < layout_.groups.size(); ++group) {
      if (layout_.groups[group].is_state()) {
        write_states(state, work, step, group);
        continue;
      }
      for (std::int64_t position = work.start; position < state.computed; ++position) {
        slot_at(state, group, position) = {
            .digest = state.digests[static_cast<std::size_t>(position)],
            .step = step,
            .written = true};
      }
    }
  }

  /// The states that a step leaves: in each block that is there, the one after its last token.
  void write_states(const State& state, const ScheduledSequence& work, std::int64_t step,
                    std::size_t group) {
    const std::vector<BlockId>& blocks = state.blocks[group];
    for (std::size_t i = block_of(work.start); i < blocks.size(); ++i) {
      if (blocks[i] != kNoBlock) {
        const std::int64_t end =
            std::min((static_cast<std::int64_t>(i) + 1) * block_size_, state.computed);
        slots_[group].at(slot_index(blocks[i], 0)) = {
            .digest = state.digests[static_cast<std::size_t>(end - 1)],
            .step = step,
            .written = true};
      }
    }
  }

  /// Poisons a block and whatever lay in its place.
  void take_over(BlockRef block) {
    for (std::int64_t offset = 0; offset < block_size_; ++offset) {
      slots_[block.group].at(slot_index(block.id, offset)) = {};
    }
    for_units_of(block, [&](std::optional<BlockRef>& owner) { owner = block; });
  }

  template <class Function>
  void for_units_of(BlockRef block, const Function& function) {
    const std::int64_t first = layout_.place(block.group, block.id);
    for (std::int64_t i = 0; i < layout_.groups[block.group].block_units; ++i) {
      function(owners_.at(static_cast<std::size_t>(first + i)));
    }
  }

  /// What the computed positions from `start` on attend to.
  void check_reads(const State& state, std::int64_t start) {
    for (std::size_t group = 0; group < layout_.groups.size(); ++group) {
      if (layout_.groups[group].is_state()) {
        continue;  // See check_states().
      }
      for (std::int64_t position = layout_.groups[group].retention.first_needed(start);
           position < state.computed; ++position) {
        const Slot& slot = slot_at(state, group, position);
        CHECK(slot.written);
        CHECK(slot.digest == state.digests[static_cast<std::size_t>(position)]);
        const BlockRef block = {group, state.blocks[group][block_of(position)]};
        for_units_of(block, [&](const std::optional<BlockRef>& owner) { CHECK(owner == block); });
      }
    }
  }

  CacheLayout layout_;
  std::int64_t block_size_;
  std::int64_t vocabulary_;
  std::vector<std::vector<Slot>> slots_;         // Of each group.
  std::vector<std::optional<BlockRef>> owners_;  // Of each unit.
  std::unordered_map<SequenceId, State> states_;
  std::unordered_map<SequenceId, std::string> salts_;
};

}  // namespace godwit::testing
