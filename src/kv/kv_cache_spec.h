#pragma once
// What one group of layers stores for each token: a plain value from which pages are sized. A model
// describes its cache needs with it; nothing here allocates.

#include <cstddef>
#include <cstdint>

namespace godwit {

/// Full attention: every layer keeps keys and values of every token, in pages of block_size tokens.
struct KvCacheSpec {
  std::int64_t num_layers = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::size_t element_size = 0;  ///< Bytes of one stored number.
  std::int64_t block_size = 16;  ///< Tokens of a page.

  /// Bytes of the keys, or of the values, of one page of one layer.
  [[nodiscard]] std::size_t page_bytes() const {
    return static_cast<std::size_t>(num_kv_heads * block_size * head_dim) * element_size;
  }
  /// Bytes that one block id stands for: keys and values of all layers.
  [[nodiscard]] std::size_t block_bytes() const {
    return 2 * static_cast<std::size_t>(num_layers) * page_bytes();
  }

  friend bool operator==(const KvCacheSpec&, const KvCacheSpec&) = default;
};

/// How many blocks hold `num_tokens` tokens.
constexpr std::int64_t blocks_for(std::int64_t num_tokens, std::int64_t block_size) {
  return (num_tokens + block_size - 1) / block_size;
}

}  // namespace godwit
