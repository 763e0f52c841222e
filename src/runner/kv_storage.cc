#include "runner/kv_storage.h"

#include "base/check.h"

namespace godwit {
namespace {

/// Cuts the pages of one layer after the other out of a group's blocks.
class PageCutter {
 public:
  PageCutter(Buffer& buffer, const KvCacheSpec& spec, const CacheLayout& layout, std::size_t group,
             DType dtype)
      : begin_(static_cast<std::byte*>(buffer.data())),
        spec_(spec),
        dtype_(dtype),
        unit_(static_cast<std::int64_t>(layout.unit_bytes / spec.element_size)),
        places_(layout.num_slabs * layout.slab_units - layout.groups[group].block_units + 1) {}

  /// An array of the next page, or nothing where it has no width.
  Tensor next(std::int64_t heads, std::int64_t width) {
    if (width == 0) {
      return {};
    }
    Tensor pages =
        Tensor::contiguous(begin_ + offset_, dtype_, {places_, heads, spec_.block_size, width});
    pages.strides[0] = unit_;
    offset_ += static_cast<std::size_t>(heads * spec_.block_size * width) * spec_.element_size;
    return pages;
  }

 private:
  std::byte* begin_;
  const KvCacheSpec& spec_;
  DType dtype_;
  std::int64_t unit_;  // Numbers of a unit.
  std::int64_t places_;
  std::size_t offset_ = 0;
};

}  // namespace

Result<KvStorage> KvStorage::create(Device& device, const KvCacheSpec& spec,
                                    const CacheLayout& layout, DType dtype,
                                    std::int64_t num_layers) {
  KvStorage storage;
  storage.buffer_ = TRY(device.allocate(layout.bytes(), MemoryPurpose::kCache));
  storage.layers_.resize(static_cast<std::size_t>(num_layers));
  for (std::size_t group = 0; group < spec.groups.size(); ++group) {
    PageCutter cutter(storage.buffer_, spec, layout, group, dtype);
    for (const LayerCacheSpec& layer : spec.groups[group].layers) {
      CHECK_LT(layer.layer, num_layers);
      LayerCache& cache = storage.layers_[static_cast<std::size_t>(layer.layer)];
      cache.group = group;
      cache.k = cutter.next(layer.num_kv_heads, layer.key_dim);
      cache.v = cutter.next(layer.num_kv_heads, layer.value_dim);
      cache.index = cutter.next(1, layer.index_dim);
    }
  }
  return storage;
}

}  // namespace godwit
