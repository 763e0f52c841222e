#pragma once
// SHA-256 (FIPS 180-4), by OpenSSL.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace godwit {

using Sha256Digest = std::array<std::uint8_t, 32>;

/// Hashes a sequence of bytes.
Sha256Digest sha256(std::span<const std::byte> bytes);

}  // namespace godwit
