#pragma once
// What a kernel reads and writes, as data, so that a checking device can verify the order of work.

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "tensor/tensor.h"

namespace godwit {

enum class Access : std::uint8_t { kRead, kWrite, kReadWrite };

/// One tensor of a kernel call. When `indices` is set, only the entries of `tensor` along `axis`
/// that the index tensor names when the kernel runs are touched; a negative index names none.
/// `lengths`, when set, says how many indices of each row count.
struct Operand {
  Tensor tensor;
  Access access = Access::kRead;
  Tensor indices{};
  int axis = 0;
  Tensor lengths{};
};

/// The operands of one call; absent optional tensors are left out.
class Operands {
 public:
  static constexpr std::size_t kMax = 16;

  Operands& reads(const Tensor& tensor) { return add({.tensor = tensor, .access = Access::kRead}); }
  Operands& writes(const Tensor& tensor) {
    return add({.tensor = tensor, .access = Access::kWrite});
  }
  Operands& updates(const Tensor& tensor) {
    return add({.tensor = tensor, .access = Access::kReadWrite});
  }
  Operands& add(const Operand& operand) {
    if (!operand.tensor.empty()) {
      CHECK_LT(size_, kMax);
      items_[size_++] = operand;
    }
    return *this;
  }

  [[nodiscard]] const Operand* begin() const { return items_.data(); }
  [[nodiscard]] const Operand* end() const { return items_.data() + size_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::array<Operand, kMax> items_;
  std::size_t size_ = 0;
};

}  // namespace godwit
