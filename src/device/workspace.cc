#include "device/workspace.h"

#include <algorithm>

#include "base/check.h"
#include "device/device.h"

namespace godwit {
namespace {
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSmallestChunk = std::size_t{1} << 20;
}  // namespace

Result<void*> Workspace::take(std::size_t bytes) {
  const std::size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  while (chunk_ < chunks_.size() && used_ + size > chunks_[chunk_].size()) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    const std::size_t wanted = std::max({size, kSmallestChunk, capacity()});
    chunks_.push_back(TRY(device_.allocate(wanted, MemoryPurpose::kWorkspace)));
    used_ = 0;
  }
  void* data = static_cast<std::byte*>(chunks_[chunk_].data()) + used_;
  used_ += size;
  return data;
}

Result<Tensor> Workspace::tensor(DType dtype, std::initializer_list<std::int64_t> shape) {
  Tensor view = Tensor::contiguous(nullptr, dtype, shape);
  view.data = TRY(take(view.bytes()));
  return view;
}

std::size_t Workspace::capacity() const {
  std::size_t total = 0;
  for (const Buffer& chunk : chunks_) {
    total += chunk.size();
  }
  return total;
}

void Workspace::rewind(std::size_t chunk, std::size_t used) {
  DCHECK(chunk <= chunk_);
  chunk_ = chunk;
  used_ = used;
}

}  // namespace godwit
