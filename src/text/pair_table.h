#pragma once
// A flat hash table from a pair of 32-bit numbers to a small value; open addressing, grow only.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace godwit {

/// Keys are (left, right), of which left must not be 0xFFFFFFFF.
template <class Value>
class PairTable {
 public:
  void reserve(std::size_t count) {
    const std::size_t size = std::bit_ceil(count * 2 + 16);
    if (size > slots_.size()) {
      rehash(size);
    }
  }

  /// Sets the value of a pair, replacing an earlier one.
  void set(std::uint32_t left, std::uint32_t right, Value value) {
    if ((count_ + 1) * 2 > slots_.size()) {
      reserve((count_ + 1) * 2);
    }
    const std::uint64_t key = key_of(left, right);
    Slot& slot = slots_[slot_of(key)];
    count_ += slot.key == kEmpty ? 1 : 0;
    slot = {key, value};
  }

  /// The value of a pair, or a null pointer.
  [[nodiscard]] const Value* find(std::uint32_t left, std::uint32_t right) const {
    if (slots_.empty()) {
      return nullptr;
    }
    const std::uint64_t key = key_of(left, right);
    const Slot& slot = slots_[slot_of(key)];
    return slot.key == key ? &slot.value : nullptr;
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = kEmpty;
    Value value{};
  };

  static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) {
    return (std::uint64_t{left} << 32) | right;
  }
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    // The high bits of the product with the golden ratio's fraction are well mixed.
    std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15U) >> 32) & mask;
    while (slots_[at].key != key && slots_[at].key != kEmpty) {
      at = (at + 1) & mask;
    }
    return at;
  }
  void rehash(std::size_t size) {
    const std::vector<Slot> old = std::move(slots_);
    slots_.assign(size, Slot());
    for (const Slot& slot : old) {
      if (slot.key != kEmpty) {
        slots_[slot_of(slot.key)] = slot;
      }
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace godwit
