#include "kv/block_hash.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace godwit {

namespace {

// What is hashed is a list of parts, each with a tag and its length. Integers are little-endian, so
// that hashes mean the same on every machine.
enum class Part : std::uint8_t {
  kDomain = 'D',
  kModel = 'M',
  kParent = 'P',
  kTokens = 'T',
  kSalt = 'S'
};

class CanonicalBytes {
 public:
  explicit CanonicalBytes(std::size_t capacity) { bytes_.reserve(capacity); }

  void begin(Part part, std::size_t length) {
    bytes_.push_back(static_cast<std::byte>(part));
    append_integer(static_cast<std::uint64_t>(length), 8);
  }
  void append_integer(std::uint64_t value, int num_bytes) {
    for (int i = 0; i < num_bytes; ++i) {
      bytes_.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xFFU));
    }
  }
  void append(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void append_part(Part part, std::string_view text) {
    begin(part, text.size());
    append(std::as_bytes(std::span(text)));
  }
  [[nodiscard]] BlockHash digest() const { return sha256(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

BlockHash root_hash(std::string_view fingerprint) {
  CanonicalBytes bytes(64 + fingerprint.size());
  bytes.append_part(Part::kDomain, "godwit.root.1");
  bytes.append_part(Part::kModel, fingerprint);
  return bytes.digest();
}

BlockHash hash_block(const BlockHash& parent, std::span<const TokenId> tokens,
                     std::string_view salt) {
  CanonicalBytes bytes(128 + tokens.size() * sizeof(TokenId) + salt.size());
  bytes.append_part(Part::kDomain, "godwit.block.1");
  bytes.begin(Part::kParent, parent.size());
  bytes.append(std::as_bytes(std::span(parent)));
  bytes.begin(Part::kTokens, tokens.size());
  for (const TokenId token : tokens) {
    bytes.append_integer(static_cast<std::uint32_t>(token), 4);
  }
  if (!salt.empty()) {
    bytes.append_part(Part::kSalt, salt);
  }
  return bytes.digest();
}

}  // namespace godwit
