#include "ops/attention.h"

#include "device/device.h"
#include "kernels/kernel_table.h"
#include "ops/shape_check.h"

namespace godwit::ops {
namespace {

constexpr auto kAny = ShapeCheck::kAny;

/// Both halves of a cache: one type, pages of [num_kv_heads, block_size, a width of its own].
ShapeCheck& check_cache(ShapeCheck& check, const Tensor& k_cache, const Tensor& v_cache,
                        std::int64_t key_dim, std::int64_t value_dim) {
  return check.dtype("k_cache", k_cache, {DType::kF32, DType::kBF16})
      .shape("k_cache", k_cache, {kAny, kAny, kAny, key_dim})
      .dtype("v_cache", v_cache, {k_cache.dtype})
      .shape("v_cache", v_cache, {kAny, k_cache.dim(1), k_cache.dim(2), value_dim});
}

}  // namespace

Status rope(Stream& stream, const RopeParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t rotary_dim = params.cos_sin.rank == 2 ? params.cos_sin.dim(1) : 0;
  TRY(ShapeCheck("rope")
          .f32("x", params.x)
          .shape("x", params.x, {kAny, kAny, kAny})
          .i32("positions", params.positions)
          .shape("positions", params.positions, {params.x.dim(0)})
          .f32("cos_sin", params.cos_sin)
          .shape("cos_sin", params.cos_sin, {kAny, rotary_dim})
          .require(rotary_dim % 2 == 0 && rotary_dim <= params.x.dim(2),
                   "the rotated width is odd or larger than the head")
          .kernel(kernels.rope != nullptr, kernels.name)
          .status());
  return kernels.rope(stream, params);
}

Status kv_write(Stream& stream, const KvWriteParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  ShapeCheck check("kv_write");
  check.f32("k", params.k)
      .shape("k", params.k, {kAny, params.k_cache.dim(1), params.k_cache.dim(3)})
      .dtype("k_cache", params.k_cache, {DType::kF32, DType::kBF16})
      .shape("k_cache", params.k_cache, {kAny, kAny, kAny, kAny})
      .i64("slots", params.slots)
      .shape("slots", params.slots, {params.k.dim(0)})
      .require(params.v.empty() == params.v_cache.empty(), "v and v_cache do not go together")
      .kernel(kernels.kv_write != nullptr, kernels.name);
  if (!params.v.empty()) {
    check.f32("v", params.v).shape("v", params.v, {params.k.dim(0), params.k.dim(1), kAny});
    check_cache(check, params.k_cache, params.v_cache, params.k.dim(2), params.v.dim(2));
  }
  TRY(check.status());
  return kernels.kv_write(stream, params);
}

Status attention(Stream& stream, const AttentionParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t sequences = params.context_lens.dim(0);
  const std::int64_t kv_heads = params.k_cache.dim(1);
  ShapeCheck check("attention");
  check.f32("q", params.q)
      .shape("q", params.q, {kAny, kAny, kAny})
      .i32("block_tables", params.block_tables)
      .shape("block_tables", params.block_tables, {sequences, kAny})
      .i32("query_start", params.query_start)
      .shape("query_start", params.query_start, {sequences + 1})
      .i32("context_lens", params.context_lens)
      .shape("context_lens", params.context_lens, {sequences})
      .f32("out", params.out)
      .shape("out", params.out, {params.q.dim(0), params.q.dim(1), kAny})
      .require(kv_heads > 0 && params.q.dim(1) % kv_heads == 0,
               "num_heads is no multiple of num_kv_heads")
      .require(params.window >= 0, "window is negative")
      .require(params.chunk >= 0, "chunk is negative")
      .require(params.softcap >= 0.0F, "softcap is negative")
      .kernel(kernels.attention != nullptr, kernels.name);
  if (!params.alibi_slopes.empty()) {
    check.f32("alibi_slopes", params.alibi_slopes)
        .shape("alibi_slopes", params.alibi_slopes, {params.q.dim(1)});
  }
  if (!params.sinks.empty()) {
    check.dtype("sinks", params.sinks, {DType::kF32, DType::kF16, DType::kBF16})
        .shape("sinks", params.sinks, {params.q.dim(1)});
  }
  if (!params.chosen.empty()) {
    check.i32("chosen", params.chosen)
        .shape("chosen", params.chosen, {params.q.dim(0), kAny})
        .require(params.chosen.dim(1) > 0, "chosen is empty")
        .require(params.window == 0 && params.chunk == 0 && params.alibi_slopes.empty(),
                 "chosen positions go with neither a window, a chunk nor a bias by distance");
  }
  check_cache(check, params.k_cache, params.v_cache, params.q.dim(2), params.out.dim(2));
  TRY(check.status());
  return kernels.attention(stream, params);
}

}  // namespace godwit::ops
