// Rotary positions, the paged cache, and attention over it.

#include <atomic>
#include <cstring>

#include "kernels/cpu/access.h"
#include "kernels/cpu/drivers.h"

namespace godwit::cpu {
namespace {

/// With fewer items than this a thread, heads that share keys are split up too.
constexpr std::int64_t kItemsPerThread = 4;
/// Queries of one item: enough to share a group's keys well, few enough to stay in the cache.
constexpr std::int64_t kItemQueries = 96;

/// How many of the heads that share keys an item takes: a divisor of them all, so that there are
/// enough items for all threads, and not too many queries in one.
std::int64_t heads_of_item(std::int64_t sharing, std::int64_t most, std::int64_t groups,
                           int threads) {
  for (std::int64_t parts = 1; parts < sharing; ++parts) {
    const bool enough = threads == 1 || groups * parts >= kItemsPerThread * threads;
    if (sharing % parts == 0 && sharing / parts <= most && enough) {
      return sharing / parts;
    }
  }
  return 1;
}

/// How the queries of a sequence are cut into items.
struct Split {
  std::int64_t tokens_each;
  std::int64_t heads_each;  ///< See heads_of_item().
};

std::int64_t tiles_of(const AttentionParams& params, std::int64_t sequence,
                      std::int64_t tokens_each) {
  const std::int64_t tokens = element<std::int32_t>(params.query_start, sequence + 1) -
                              element<std::int32_t>(params.query_start, sequence);
  return (tokens + tokens_each - 1) / tokens_each;
}

/// Tile `tile` of a sequence, whose sinks are f32, for the heads [first_head, first_head +
/// heads_each).
AttentionItem make_item(const AttentionParams& params, const Split& cut, std::int64_t sequence,
                        std::int64_t tile, std::int64_t first_head) {
  const std::int64_t kv_head = first_head / (params.q.dim(1) / params.k_cache.dim(1));
  const std::int64_t start = element<std::int32_t>(params.query_start, sequence);
  const std::int64_t end = element<std::int32_t>(params.query_start, sequence + 1);
  const std::int64_t first = start + tile * cut.tokens_each;
  const std::int64_t position =
      element<std::int32_t>(params.context_lens, sequence) - (end - first);
  const bool chosen = !params.chosen.empty();
  const std::int64_t element_bytes = params.k_cache.dtype == DType::kF32 ? 4 : 2;
  return {.q = row_of<float>(params.q, first) + first_head * params.q.stride(1),
          .q_token_stride = params.q.stride(0),
          .q_head_stride = params.q.stride(1),
          .out = row_of<float>(params.out, first) + first_head * params.out.stride(1),
          .out_token_stride = params.out.stride(0),
          .out_head_stride = params.out.stride(1),
          .tokens = std::min(cut.tokens_each, end - first),
          .heads = cut.heads_each,
          .key_dim = params.q.dim(2),
          .value_dim = params.out.dim(2),
          .first_position = chosen ? std::min(position, params.chosen.dim(1) - 1) : position,
          .window = params.window,
          .chunk = params.chunk,
          .scale = params.scale,
          .softcap = params.softcap,
          .alibi_slopes = params.alibi_slopes.empty()
                              ? nullptr
                              : static_cast<const float*>(params.alibi_slopes.data) + first_head,
          .sinks = params.sinks.empty() ? nullptr
                                        : static_cast<const float*>(params.sinks.data) + first_head,
          .k = static_cast<const std::byte*>(params.k_cache.data) +
               kv_head * params.k_cache.stride(1) * element_bytes,
          .v = static_cast<const std::byte*>(params.v_cache.data) +
               kv_head * params.v_cache.stride(1) * element_bytes,
          .chosen = chosen ? row_of<std::int32_t>(params.chosen, first) : nullptr,
          .blocks = row_of<std::int32_t>(params.block_tables, sequence),
          .block_size = params.k_cache.dim(2),
          .k_block_stride = params.k_cache.stride(0),
          .k_row_stride = params.k_cache.stride(2),
          .v_block_stride = params.v_cache.stride(0),
          .v_row_stride = params.v_cache.stride(2)};
}

/// Walks the items from the first sequence on; a thread asks for rising numbers.
class ItemCursor {
 public:
  ItemCursor(const AttentionParams& params, const Split& cut)
      : params_(params),
        cut_(cut),
        columns_(params.q.dim(1) / cut.heads_each),
        tiles_(tiles_of(params, 0, cut.tokens_each)) {}
  AttentionItem item(std::int64_t number) {
    while (number - before_ >= tiles_ * columns_) {
      before_ += tiles_ * columns_;
      ++sequence_;
      tiles_ = tiles_of(params_, sequence_, cut_.tokens_each);
    }
    const std::int64_t local = number - before_;
    // The last tiles see the longest context: they go first, so that threads end together.
    return make_item(params_, cut_, sequence_, tiles_ - 1 - local / columns_,
                     local % columns_ * cut_.heads_each);
  }

 private:
  const AttentionParams& params_;
  Split cut_;
  std::int64_t columns_;  // Items of one tile.
  std::int64_t tiles_;
  std::int64_t sequence_ = 0;
  std::int64_t before_ = 0;
};

template <class T>
void write_head(const IsaKernels& isa, const float* from, T* to, std::int64_t width) {
  if constexpr (sizeof(T) == sizeof(float)) {
    std::memcpy(to, from, static_cast<std::size_t>(width) * sizeof(float));
  } else {
    isa.rows->to_bfloat(from, to, width);
  }
}

template <class T>
void write_tokens(const IsaKernels& isa, const Tensor& from, const Tensor& slots,
                  const Tensor& cache, std::int64_t begin, std::int64_t end) {
  const std::int64_t block_size = cache.dim(2);
  for (std::int64_t t = begin; t < end; ++t) {
    const auto slot = element<std::int64_t>(slots, t);
    if (slot < 0) {
      continue;
    }
    T* to = row_of<T>(cache, slot / block_size) + slot % block_size * cache.stride(2);
    for (std::int64_t h = 0; h < from.dim(1); ++h) {
      write_head<T>(isa, row_of<float>(from, t) + h * from.stride(1), to + h * cache.stride(1),
                    from.dim(2));
    }
  }
}

}  // namespace

Status rope(const IsaKernels& isa, Stream& stream, const RopeParams& params) {
  const std::int64_t half = params.cos_sin.dim(1) / 2;
  const std::int64_t heads = params.x.dim(1);
  split(stream, params.x.dim(0), heads * half * 2, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const float* table =
          row_of<float>(params.cos_sin, element<std::int32_t>(params.positions, t));
      for (std::int64_t h = 0; h < heads; ++h) {
        float* x = row_of<float>(params.x, t) + h * params.x.stride(1);
        if (!params.interleaved) {
          isa.rows->rope_halves(x, table, half);
          continue;
        }
        for (std::int64_t i = 0; i < half; ++i) {
          const float a = x[2 * i];
          const float b = x[2 * i + 1];
          x[2 * i] = a * table[i] - b * table[half + i];
          x[2 * i + 1] = b * table[i] + a * table[half + i];
        }
      }
    }
  });
  return {};
}

Status kv_write(const IsaKernels& isa, Stream& stream, const KvWriteParams& params) {
  const bool values = !params.v.empty();
  const std::int64_t width = params.k.dim(1) * (params.k.dim(2) + (values ? params.v.dim(2) : 0));
  const auto write =
      params.k_cache.dtype == DType::kF32 ? write_tokens<float> : write_tokens<BFloat>;
  split(stream, params.k.dim(0), width, [&](std::int64_t begin, std::int64_t end) {
    write(isa, params.k, params.slots, params.k_cache, begin, end);
    if (values) {
      write(isa, params.v, params.slots, params.v_cache, begin, end);
    }
  });
  return {};
}

Status attention(const IsaKernels& isa, Stream& stream, const AttentionParams& given) {
  const Workspace::Scope scope(stream.workspace());
  AttentionParams params = given;
  if (!given.sinks.empty()) {
    params.sinks = TRY(stream.workspace().tensor(DType::kF32, {given.sinks.dim(0)}));
    widen(isa, given.sinks.dtype, given.sinks.data, static_cast<float*>(params.sinks.data),
          given.sinks.dim(0));
  }
  ThreadPool& threads = threads_of(stream);
  const std::int64_t heads = params.q.dim(1) / params.k_cache.dim(1);
  Split cut = {.tokens_each = std::max<std::int64_t>(1, kItemQueries / heads), .heads_each = heads};
  if (!params.chosen.empty()) {
    cut.tokens_each = 1;
  }
  std::int64_t tiles = 0;
  for (std::int64_t s = 0; s < params.context_lens.dim(0); ++s) {
    tiles += tiles_of(params, s, cut.tokens_each);
  }
  if (tiles == 0) {
    return {};
  }
  cut.heads_each = heads_of_item(heads, kItemQueries / cut.tokens_each,
                                 tiles * params.k_cache.dim(1), threads.size());
  const std::int64_t items = tiles * (params.q.dim(1) / cut.heads_each);
  const std::int64_t queries = cut.tokens_each * cut.heads_each;
  const std::int64_t bytes =
      (isa.attention->scratch_bytes(queries, params.q.dim(2), params.out.dim(2)) + 63) / 64 * 64;
  auto* scratch = TRY(take<std::byte>(stream, bytes * threads.size()));
  const auto inner = params.k_cache.dtype == DType::kF32 ? isa.attention->f32 : isa.attention->bf16;
  std::atomic<std::int64_t> next{0};
  threads.run([&](int thread) {
    ItemCursor cursor(params, cut);
    for (std::int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < items;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      inner(cursor.item(i), scratch + thread * bytes);
    }
  });
  return {};
}

}  // namespace godwit::cpu
