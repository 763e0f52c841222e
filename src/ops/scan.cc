#include "ops/scan.h"

#include "device/device.h"
#include "kernels/kernel_table.h"
#include "ops/shape_check.h"

namespace godwit::ops {
namespace {

constexpr std::int64_t kAny = ShapeCheck::kAny;

void check_tables(ShapeCheck& check, const Tensor& query_start, const StateTables& tables) {
  const std::int64_t sequences = query_start.dim(0) - 1;
  check.i32("query_start", query_start)
      .shape("query_start", query_start, {kAny})
      .i32("sources", tables.sources)
      .shape("sources", tables.sources, {sequences})
      .i32("save_start", tables.save_start)
      .shape("save_start", tables.save_start, {sequences + 1})
      .i32("save_ends", tables.save_ends)
      .shape("save_ends", tables.save_ends, {kAny})
      .i32("save_places", tables.save_places)
      .shape("save_places", tables.save_places, {tables.save_ends.dim(0)});
}

}  // namespace

Status step_size(Stream& stream, const StepSizeParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t width = params.x.dim(1);
  ShapeCheck check("step_size");
  check.f32("x", params.x)
      .shape("x", params.x, {kAny, kAny})
      .f32("bias", params.bias)
      .shape("bias", params.bias, {width})
      .require(!params.step.empty() || !params.decay.empty(), "neither step nor decay is there")
      .require(params.rate.empty() == params.decay.empty(), "rate and decay come together")
      .require(params.step.data != params.decay.data, "step is decay");
  if (!params.step.empty()) {
    check.f32("step", params.step).same_shape("step", params.step, params.x);
  }
  if (!params.decay.empty()) {
    check.f32("rate", params.rate)
        .shape("rate", params.rate, {width})
        .f32("decay", params.decay)
        .same_shape("decay", params.decay, params.x);
  }
  TRY(check.require(params.lowest <= params.highest, "lowest is above highest")
          .kernel(kernels.step_size != nullptr, kernels.name)
          .status());
  return kernels.step_size(stream, params);
}

Status selective_scan(Stream& stream, const SelectiveScanParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t tokens = params.x.dim(0);
  const std::int64_t channels = params.x.dim(1);
  const std::int64_t size = params.rate.dim(1);
  ShapeCheck check("selective_scan");
  check.f32("x", params.x)
      .shape("x", params.x, {kAny, kAny})
      .f32("step", params.step)
      .same_shape("step", params.step, params.x)
      .f32("rate", params.rate)
      .shape("rate", params.rate, {channels, kAny})
      .f32("b", params.b)
      .shape("b", params.b, {tokens, size})
      .f32("c", params.c)
      .shape("c", params.c, {tokens, size})
      .f32("skip", params.skip)
      .shape("skip", params.skip, {channels})
      .f32("states", params.states)
      .shape("states", params.states, {kAny, channels, 1, size})
      .f32("out", params.out)
      .same_shape("out", params.out, params.x);
  check_tables(check, params.query_start, params.tables);
  TRY(check.kernel(kernels.selective_scan != nullptr, kernels.name).status());
  return kernels.selective_scan(stream, params);
}

Status linear_recurrence(Stream& stream, const LinearRecurrenceParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t tokens = params.v.dim(0);
  const std::int64_t heads = params.v.dim(1);
  const std::int64_t columns = params.v.dim(2);
  const std::int64_t key_heads = params.k.dim(1);
  const std::int64_t rows = params.k.dim(2);
  ShapeCheck check("linear_recurrence");
  check.f32("v", params.v)
      .shape("v", params.v, {kAny, kAny, kAny})
      .f32("k", params.k)
      .shape("k", params.k, {tokens, kAny, kAny})
      .require(key_heads > 0 && heads % key_heads == 0, "heads are no multiple of key heads")
      .f32("q", params.q)
      .same_shape("q", params.q, params.k)
      .f32("decay", params.decay)
      .f32("states", params.states)
      .shape("states", params.states, {kAny, heads, rows, columns})
      .f32("out", params.out)
      .same_shape("out", params.out, params.v);
  if (params.decay.rank == 3) {
    check.shape("decay", params.decay, {tokens, heads, rows});
  } else {
    check.shape("decay", params.decay, {tokens, heads});
  }
  if (!params.gain.empty()) {
    check.f32("gain", params.gain).shape("gain", params.gain, {tokens, heads});
  }
  if (!params.skip.empty()) {
    check.f32("skip", params.skip).shape("skip", params.skip, {heads});
  }
  check_tables(check, params.query_start, params.tables);
  TRY(check.kernel(kernels.linear_recurrence != nullptr, kernels.name).status());
  return kernels.linear_recurrence(stream, params);
}

}  // namespace godwit::ops
