#include "kv/prefix_index.h"

#include "base/check.h"

namespace godwit {

PrefixIndex::PrefixIndex(std::int64_t num_blocks)
    : entries_(static_cast<std::size_t>(num_blocks)) {}

PrefixIndex::Entry& PrefixIndex::at(BlockId id) {
  CHECK(static_cast<std::size_t>(id) < entries_.size());
  return entries_[static_cast<std::size_t>(id)];
}

const PrefixIndex::Entry& PrefixIndex::at(BlockId id) const {
  CHECK(static_cast<std::size_t>(id) < entries_.size());
  return entries_[static_cast<std::size_t>(id)];
}

std::optional<BlockId> PrefixIndex::find(const BlockHash& hash) const {
  const auto found = first_.find(hash);
  if (found == first_.end()) {
    return std::nullopt;
  }
  return found->second;
}

void PrefixIndex::insert(const BlockHash& hash, BlockId id) {
  Entry& entry = at(id);
  CHECK(!entry.present);
  entry = Entry{.hash = hash, .present = true};
  ++size_;
  const auto [slot, is_new] = first_.try_emplace(hash, id);
  if (is_new) {
    return;
  }
  // Second place, so that the block that others share already stays the one that is found.
  Entry& first = at(slot->second);
  entry.previous = slot->second;
  entry.next = first.next;
  if (first.next != kNone) {
    at(first.next).previous = id;
  }
  first.next = id;
}

void PrefixIndex::erase(BlockId id) {
  Entry& entry = at(id);
  CHECK(entry.present);
  if (entry.next != kNone) {
    at(entry.next).previous = entry.previous;
  }
  if (entry.previous != kNone) {
    at(entry.previous).next = entry.next;
  } else if (entry.next != kNone) {
    first_.find(entry.hash)->second = entry.next;
  } else {
    first_.erase(entry.hash);
  }
  entry = Entry{};
  --size_;
}

std::optional<BlockHash> PrefixIndex::hash_of(BlockId id) const {
  const Entry& entry = at(id);
  if (!entry.present) {
    return std::nullopt;
  }
  return entry.hash;
}

void PrefixIndex::check_invariants() const {
  std::int64_t num_reached = 0;
  for (const auto& [hash, first] : first_) {
    BlockId previous = kNone;
    for (BlockId id = first; id != kNone; id = at(id).next) {
      CHECK(at(id).present);
      CHECK(at(id).hash == hash);
      CHECK(at(id).previous == previous);
      previous = id;
      ++num_reached;
      CHECK_LE(num_reached, size_);
    }
  }
  std::int64_t num_present = 0;
  for (const Entry& entry : entries_) {
    num_present += entry.present ? 1 : 0;
  }
  CHECK_EQ(num_reached, size_);
  CHECK_EQ(num_present, size_);
}

}  // namespace godwit
