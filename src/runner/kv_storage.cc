#include "runner/kv_storage.h"

#include "base/check.h"

namespace godwit {
namespace {

/// Cuts the pages or states of one layer after the other out of a group's blocks.
class BlockCutter {
 public:
  BlockCutter(Buffer& buffer, const KvCacheSpec& spec, const CacheLayout& layout, std::size_t group,
              DType dtype)
      : next_(static_cast<std::byte*>(buffer.data())),
        block_size_(spec.block_size),
        dtype_(dtype),
        unit_bytes_(layout.unit_bytes),
        places_(layout.num_slabs * layout.slab_units - layout.groups[group].block_units + 1) {}

  Tensor pages(std::int64_t heads, std::int64_t width) {
    return cut(Tensor::contiguous(next_, dtype_, {places_, heads, block_size_, width}));
  }
  Tensor conv(const StateSpec& state) {
    return cut(
        Tensor::contiguous(next_, DType::kF32, {places_, state.conv_channels, state.conv_inputs}));
  }
  Tensor state(const StateSpec& state) {
    return cut(
        Tensor::contiguous(next_, DType::kF32, {places_, state.heads, state.rows, state.columns}));
  }

 private:
  /// Steps over one entry of `array` and puts the entries a unit apart. Nothing where it has no
  /// width.
  Tensor cut(Tensor array) {
    const auto element_size = static_cast<std::int64_t>(block_bytes(array.dtype));
    const std::int64_t entry = array.elements() / places_;
    if (entry == 0) {
      return {};
    }
    next_ += entry * element_size;
    array.strides[0] = static_cast<std::int64_t>(unit_bytes_) / element_size;
    return array;
  }

  std::byte* next_;
  std::int64_t block_size_;
  DType dtype_;
  std::size_t unit_bytes_;
  std::int64_t places_;
};

}  // namespace

Result<KvStorage> KvStorage::create(Device& device, const KvCacheSpec& spec,
                                    const CacheLayout& layout, DType dtype,
                                    std::int64_t num_layers) {
  KvStorage storage;
  storage.buffer_ = TRY(device.allocate(layout.bytes(), MemoryPurpose::kCache));
  storage.layers_.resize(static_cast<std::size_t>(num_layers));
  for (std::size_t group = 0; group < spec.groups.size(); ++group) {
    BlockCutter cutter(storage.buffer_, spec, layout, group, dtype);
    for (const LayerCacheSpec& layer : spec.groups[group].layers) {
      CHECK_LT(layer.layer, num_layers);
      LayerCache& cache = storage.layers_[static_cast<std::size_t>(layer.layer)];
      cache.group = group;
      cache.k = cutter.pages(layer.num_kv_heads, layer.key_dim);
      cache.v = cutter.pages(layer.num_kv_heads, layer.value_dim);
      cache.index = cutter.pages(1, layer.index_dim);
      cache.conv = cutter.conv(layer.state);
      cache.state = cutter.state(layer.state);
    }
  }
  return storage;
}

}  // namespace godwit
