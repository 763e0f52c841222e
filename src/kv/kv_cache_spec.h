#pragma once
// What the layers of a model store for each token, or of all tokens together: plain values from
// which pages are sized. A model describes its cache needs with them; nothing here allocates.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace godwit {

/// Which earlier positions a layer reads when it computes a position.
struct Retention {
  enum class Kind : std::uint8_t {
    kAll,     ///< All of them.
    kWindow,  ///< The last `size`, the position itself included.
    kChunk,   ///< Those since the last multiple of `size`.
    kState,   ///< None: the state after the position before it, of a recurrent layer.
  };
  Kind kind = Kind::kAll;
  std::int64_t size = 0;  ///< >= 1 for kWindow and kChunk.

  static constexpr Retention all() { return {}; }
  /// `size` 0 means all, as configs say it.
  static constexpr Retention window(std::int64_t size) {
    return size == 0 ? all() : Retention{Kind::kWindow, size};
  }
  static constexpr Retention chunk(std::int64_t size) { return {Kind::kChunk, size}; }
  static constexpr Retention state() { return {Kind::kState, 0}; }

  /// The first position that is read (or whose state is) when `position` is computed. Never falls
  /// as `position` rises.
  [[nodiscard]] constexpr std::int64_t first_needed(std::int64_t position) const {
    switch (kind) {
      case Kind::kWindow:
        return position < size ? 0 : position - size + 1;
      case Kind::kChunk:
        return position / size * size;
      case Kind::kState:
        return position == 0 ? 0 : position - 1;
      default:
        return 0;
    }
  }

  friend bool operator==(const Retention&, const Retention&) = default;
};

/// What a recurrent layer knows of all tokens before a position, as float32.
struct StateSpec {
  std::int64_t conv_channels = 0;  ///< 0: it has no causal convolution.
  std::int64_t conv_inputs = 0;    ///< Of each channel: taps - 1.
  std::int64_t heads = 0;          ///< 0: it has no recurrence but the convolution's.
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  /// Numbers of both parts.
  [[nodiscard]] std::int64_t size() const {
    return conv_channels * conv_inputs + heads * rows * columns;
  }

  friend bool operator==(const StateSpec&, const StateSpec&) = default;
};

/// What one layer stores for each token, or its state.
struct LayerCacheSpec {
  std::int64_t layer = 0;  ///< Its place in Context::caches.
  std::int64_t num_kv_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;  ///< 0: values are a part of the keys, as in a latent of MLA.
  std::int64_t index_dim = 0;  ///< Width of the key of sparse attention's indexer; 0 = none.
  Retention retention = {};
  StateSpec state = {};  ///< Of Retention::state() alone, which stores nothing else.

  /// Numbers that one token takes.
  [[nodiscard]] std::int64_t width() const {
    return num_kv_heads * (key_dim + value_dim) + index_dim;
  }

  friend bool operator==(const LayerCacheSpec&, const LayerCacheSpec&) = default;
};

/// Layers that keep the same positions: they share block tables, and a block id stands for a page
/// of each of them.
struct CacheGroup {
  Retention retention;
  std::vector<LayerCacheSpec> layers;

  [[nodiscard]] std::int64_t width() const;

  friend bool operator==(const CacheGroup&, const CacheGroup&) = default;
};

/// Puts layers of one retention into one group. Groups come in the order of their first layers.
std::vector<CacheGroup> group_layers(std::span<const LayerCacheSpec> layers);

struct KvCacheSpec {
  std::vector<CacheGroup> groups;
  std::size_t element_size = 0;  ///< Bytes of one stored number.
  std::int64_t block_size = 16;  ///< Tokens of a page.

  /// Bytes that a block of `group` takes, in whole 64 bytes: block_size tokens, or one state.
  [[nodiscard]] std::size_t block_bytes(const CacheGroup& group) const;

  friend bool operator==(const KvCacheSpec&, const KvCacheSpec&) = default;
};

/// How many blocks hold `num_tokens` tokens.
constexpr std::int64_t blocks_for(std::int64_t num_tokens, std::int64_t block_size) {
  return (num_tokens + block_size - 1) / block_size;
}

}  // namespace godwit
