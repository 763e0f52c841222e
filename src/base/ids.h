#pragma once
// Identifiers that must not be mixed up.

#include <cstdint>

namespace godwit {

/// A token of the model's vocabulary.
using TokenId = std::int32_t;

/// A page of the cache.
enum class BlockId : std::int32_t {};

/// One stream of tokens in the engine; a request with n > 1 has n of them. Never reused.
enum class SequenceId : std::int64_t {};

}  // namespace godwit
