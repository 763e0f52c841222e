#pragma once
// A tensor as it lies in a checkpoint file, before anybody decided to compute on it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace godwit {

/// Name, element type, row-major shape and bytes of one stored tensor. The bytes point into the
/// mapped file and may be misaligned for the type.
struct StoredTensor {
  std::string name;
  std::optional<DType>
      dtype;               ///< Nothing when godwit has no such type; it can only be listed then.
  std::string dtype_name;  ///< As the format calls it: "BF16", "F8_E4M3", "Q6_K".
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
  std::size_t file = 0;  ///< Index into Checkpoint::files().
};

/// A name read from a file as messages show it: quoted, without control characters, at most 120
/// bytes.
std::string shown_name(std::string_view name);

/// "[3, 64]", for messages.
std::string shape_text(std::span<const std::int64_t> shape);

/// Product of the sizes; nothing when one is negative or the product leaves 63 bits.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape);

}  // namespace godwit
