#pragma once
// Scratch memory that belongs to one stream: a stack of tensors, released scope by scope.

#include <cstddef>
#include <initializer_list>
#include <vector>

#include "base/status.h"
#include "device/buffer.h"
#include "tensor/tensor.h"

namespace godwit {

/// Hands out memory in stack order. It grows when a step needs more than any before, and keeps what
/// it has, so that a steady state allocates nothing.
class Workspace {
 public:
  explicit Workspace(Device& device) : device_(device) {}

  /// Everything taken after a Scope was made is given back when it ends.
  class Scope {
   public:
    explicit Scope(Workspace& workspace)
        : workspace_(workspace), chunk_(workspace.chunk_), used_(workspace.used_) {}
    ~Scope() { workspace_.rewind(chunk_, used_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Workspace& workspace_;
    std::size_t chunk_;
    std::size_t used_;
  };

  /// Memory of unspecified content, aligned to 64 bytes. Errors: kResourceExhausted.
  Result<void*> take(std::size_t bytes);
  /// The same as a contiguous tensor.
  Result<Tensor> tensor(DType dtype, std::initializer_list<std::int64_t> shape);

  /// Bytes held from the device.
  [[nodiscard]] std::size_t capacity() const;

 private:
  void rewind(std::size_t chunk, std::size_t used);

  Device& device_;
  std::vector<Buffer> chunks_;
  std::size_t chunk_ = 0;  // The chunk in use; chunks_.size() while there is none.
  std::size_t used_ = 0;   // Bytes used of it.
};

}  // namespace godwit
