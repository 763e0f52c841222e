#include "text/vocabulary.h"

#include <bit>
#include <functional>

#include "base/check.h"

namespace godwit {
namespace {

std::uint32_t hash_of(std::string_view token) {
  const std::size_t hash = std::hash<std::string_view>()(token);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

void Vocabulary::reserve(std::size_t count, std::size_t total_bytes) {
  texts_.reserve(total_bytes);
  tokens_.reserve(count);
  grow(count);
}

void Vocabulary::grow(std::size_t count) {
  const std::size_t size = std::bit_ceil(count * 2 + 16);
  if (size <= slots_.size()) {
    return;
  }
  const std::vector<Slot> old = std::move(slots_);
  slots_.assign(size, Slot());
  for (const Slot& slot : old) {
    if (slot.id >= 0) {
      slots_[slot_of(view(tokens_[static_cast<std::size_t>(slot.id)]), slot.hash)] = slot;
    }
  }
}

std::size_t Vocabulary::slot_of(std::string_view token, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].id >= 0) {
    if (slots_[at].hash == hash &&
        view(tokens_[static_cast<std::size_t>(slots_[at].id)]) == token) {
      break;
    }
    at = (at + 1) & mask;
  }
  return at;
}

Vocabulary::Added Vocabulary::add(std::string_view token, TokenId id) {
  CHECK(id >= 0 && id < kMaxVocabularySize);
  const auto index = static_cast<std::size_t>(id);
  if (index < tokens_.size() && tokens_[index].present) {
    return Added::kDuplicateId;
  }
  if ((count_ + 1) * 2 > slots_.size()) {
    grow((count_ + 1) * 2);
  }
  const std::uint32_t hash = hash_of(token);
  Slot& slot = slots_[slot_of(token, hash)];
  if (slot.id >= 0) {
    return Added::kDuplicateToken;
  }
  if (index >= tokens_.size()) {
    tokens_.resize(index + 1);
  }
  tokens_[index] = {texts_.size(), static_cast<std::uint32_t>(token.size()), true};
  texts_.append(token);
  slot = {hash, id};
  ++count_;
  return Added::kYes;
}

std::optional<TokenId> Vocabulary::find(std::string_view token) const {
  if (slots_.empty()) {
    return std::nullopt;
  }
  const Slot& slot = slots_[slot_of(token, hash_of(token))];
  return slot.id >= 0 ? std::optional(slot.id) : std::nullopt;
}

std::optional<std::string_view> Vocabulary::token(TokenId id) const {
  if (id < 0 || id >= size() || !tokens_[static_cast<std::size_t>(id)].present) {
    return std::nullopt;
  }
  return view(tokens_[static_cast<std::size_t>(id)]);
}

}  // namespace godwit
