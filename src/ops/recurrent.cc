#include "ops/recurrent.h"

#include "device/device.h"
#include "kernels/kernel_table.h"
#include "ops/shape_check.h"

namespace godwit::ops {
namespace {

/// The tables of `sequences` sequences.
void check_tables(ShapeCheck& check, const StateTables& tables, std::int64_t sequences) {
  const std::int64_t saves = tables.save_ends.dim(0);
  check.dtype("sources", tables.sources, {DType::kI32})
      .shape("sources", tables.sources, {sequences})
      .dtype("save_start", tables.save_start, {DType::kI32})
      .shape("save_start", tables.save_start, {sequences + 1})
      .dtype("save_ends", tables.save_ends, {DType::kI32})
      .shape("save_ends", tables.save_ends, {ShapeCheck::kAny})
      .dtype("save_places", tables.save_places, {DType::kI32})
      .shape("save_places", tables.save_places, {saves});
}

}  // namespace

Status causal_conv(Stream& stream, const CausalConvParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t channels = params.x.dim(1);
  const std::int64_t taps = params.weight.dim(1);
  const std::int64_t sequences = params.query_start.dim(0) - 1;
  ShapeCheck check("causal_conv");
  check.f32("x", params.x)
      .shape("x", params.x, {ShapeCheck::kAny, ShapeCheck::kAny})
      .dtype("weight", params.weight, {DType::kF32, DType::kF16, DType::kBF16})
      .shape("weight", params.weight, {channels, ShapeCheck::kAny})
      .require(taps >= 2, "weight has less than two taps")
      .require(params.weight.is_contiguous(), "weight has gaps")
      .dtype("query_start", params.query_start, {DType::kI32})
      .shape("query_start", params.query_start, {ShapeCheck::kAny})
      .f32("states", params.states)
      .shape("states", params.states, {ShapeCheck::kAny, channels, taps - 1})
      .f32("out", params.out)
      .same_shape("out", params.out, params.x)
      .require(params.out.data != params.x.data, "out is x");
  if (!params.gate_in.empty()) {
    check.f32("gate_in", params.gate_in).same_shape("gate_in", params.gate_in, params.x);
  }
  if (!params.gate_out.empty()) {
    check.f32("gate_out", params.gate_out).same_shape("gate_out", params.gate_out, params.x);
  }
  if (!params.bias.empty()) {
    check.dtype("bias", params.bias, {DType::kF32, DType::kF16, DType::kBF16})
        .shape("bias", params.bias, {channels});
  }
  check_tables(check, params.tables, sequences);
  TRY(check.kernel(kernels.causal_conv != nullptr, kernels.name).status());
  return kernels.causal_conv(stream, params);
}

}  // namespace godwit::ops
