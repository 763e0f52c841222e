#pragma once
// The counter-based random numbers of sampling. Source: Salmon et al. 2011, "Parallel random
// numbers: as easy as 1, 2, 3".

#include <array>
#include <cstdint>

namespace godwit {

/// Philox4x32-10.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// A number in [0, 1): the first 53 bits of philox(counter = step, key = seed), 0 in the upper half
/// of the counter.
double uniform(std::uint64_t seed, std::uint64_t step);

}  // namespace godwit
