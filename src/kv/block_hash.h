#pragma once
// Names for the content of a full block. A block's hash covers everything that its keys and values
// depend on: the model, the tokens of this block and, through the parent's hash, of all blocks
// before it, and the client's salt. Equal hashes therefore mean equal content, and SHA-256 makes it
// impossible to craft a prompt that finds someone else's blocks.

#include <cstring>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "base/sha256.h"

namespace godwit {

using BlockHash = Sha256Digest;

/// Picks eight bytes of a BlockHash, which are as good as any, for hash tables.
struct BlockHashHasher {
  std::size_t operator()(const BlockHash& hash) const {
    std::size_t value = 0;
    std::memcpy(&value, hash.data(), sizeof(value));
    return value;
  }
};

/// Hashes the start of every chain. `fingerprint` names the model and the layout of its cache: two
/// engines share hashes only if theirs are equal.
BlockHash root_hash(std::string_view fingerprint);

/// Hashes one full block. `salt` belongs to the first block only and is empty in all others; the
/// chain carries it on. Every part is tagged and has its length, so that no two inputs have the
/// same bytes.
BlockHash hash_block(const BlockHash& parent, std::span<const TokenId> tokens,
                     std::string_view salt);

}  // namespace godwit
