#include "ops/dense.h"

#include "device/device.h"
#include "kernels/kernel_table.h"
#include "ops/shape_check.h"

namespace godwit::ops {
namespace {

constexpr std::initializer_list<DType> kVectorTypes = {DType::kF32, DType::kF16, DType::kBF16};

/// What norms have in common.
template <class Params>
void check_norm(ShapeCheck& check, const Params& params) {
  const int rank = params.x.rank;
  check.require(rank == 2 || rank == 3, "x is neither [rows, width] nor [rows, heads, width]")
      .f32("x", params.x)
      .same_shape("x", params.x, params.out)
      .f32("out", params.out)
      .same_shape("out", params.out, params.x)
      .dtype("weight", params.weight, kVectorTypes)
      .shape("weight", params.weight, {params.x.dim(rank - 1)});
}

/// What ops that turn rows into rows of the same shape have in common.
ShapeCheck check_rows(const char* op, const Tensor& x, const Tensor& out) {
  return ShapeCheck(op)
      .f32("x", x)
      .shape("x", x, {ShapeCheck::kAny, ShapeCheck::kAny})
      .f32("out", out)
      .same_shape("out", out, x);
}

}  // namespace

Status embedding(Stream& stream, const EmbeddingParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  TRY(ShapeCheck("embedding")
          .weight("table", params.table)
          .shape("table", params.table, {ShapeCheck::kAny, ShapeCheck::kAny})
          .i32("ids", params.ids)
          .shape("ids", params.ids, {ShapeCheck::kAny})
          .f32("out", params.out)
          .shape("out", params.out, {params.ids.dim(0), params.table.dim(1)})
          .kernel(kernels.embedding != nullptr, kernels.name)
          .status());
  return kernels.embedding(stream, params);
}

Status rms_norm(Stream& stream, const RmsNormParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  ShapeCheck check("rms_norm");
  check_norm(check, params);
  TRY(check.kernel(kernels.rms_norm != nullptr, kernels.name).status());
  return kernels.rms_norm(stream, params);
}

Status layer_norm(Stream& stream, const LayerNormParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  ShapeCheck check("layer_norm");
  check_norm(check, params);
  if (!params.bias.empty()) {
    check.dtype("bias", params.bias, kVectorTypes)
        .shape("bias", params.bias, {params.weight.dim(0)});
  }
  TRY(check.kernel(kernels.layer_norm != nullptr, kernels.name).status());
  return kernels.layer_norm(stream, params);
}

Status gemm(Stream& stream, const GemmParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t n = params.weight.dim(0);
  ShapeCheck check("gemm");
  check.f32("x", params.x)
      .shape("x", params.x, {ShapeCheck::kAny, params.weight.dim(1)})
      .weight("weight", params.weight)
      .shape("weight", params.weight, {n, params.x.dim(1)})
      .require(params.weight.is_contiguous(), "weight is not contiguous")
      .f32("out", params.out)
      .shape("out", params.out, {params.x.dim(0), n})
      .kernel(kernels.gemm != nullptr, kernels.name);
  if (!params.bias.empty()) {
    check.dtype("bias", params.bias, kVectorTypes).shape("bias", params.bias, {n});
  }
  if (!params.input_order.empty()) {
    check.i32("input_order", params.input_order)
        .shape("input_order", params.input_order, {params.x.dim(1)});
  }
  TRY(check.status());
  return kernels.gemm(stream, params);
}

Status activation(Stream& stream, const ActivationParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  TRY(check_rows("activation", params.x, params.out)
          .kernel(kernels.activation != nullptr, kernels.name)
          .status());
  return kernels.activation(stream, params);
}

Status gated_activation(Stream& stream, const GatedActivationParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  TRY(ShapeCheck("gated_activation")
          .f32("gate", params.gate)
          .shape("gate", params.gate, {ShapeCheck::kAny, ShapeCheck::kAny})
          .f32("up", params.up)
          .same_shape("up", params.up, params.gate)
          .f32("out", params.out)
          .same_shape("out", params.out, params.gate)
          .kernel(kernels.gated_activation != nullptr, kernels.name)
          .status());
  return kernels.gated_activation(stream, params);
}

Status add(Stream& stream, const AddParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  TRY(check_rows("add", params.x, params.out)
          .kernel(kernels.add != nullptr, kernels.name)
          .status());
  return kernels.add(stream, params);
}

Status scale(Stream& stream, const ScaleParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  TRY(check_rows("scale", params.x, params.out)
          .require(params.softcap >= 0.0F, "softcap is negative")
          .kernel(kernels.scale != nullptr, kernels.name)
          .status());
  return kernels.scale(stream, params);
}

Status clamp(Stream& stream, const ClampParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  TRY(check_rows("clamp", params.x, params.out)
          .require(params.limit > 0.0F, "limit is not positive")
          .kernel(kernels.clamp != nullptr, kernels.name)
          .status());
  return kernels.clamp(stream, params);
}

Status gather_rows(Stream& stream, const GatherRowsParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  TRY(ShapeCheck("gather_rows")
          .f32("x", params.x)
          .shape("x", params.x, {ShapeCheck::kAny, ShapeCheck::kAny})
          .i32("rows", params.rows)
          .shape("rows", params.rows, {ShapeCheck::kAny})
          .f32("out", params.out)
          .shape("out", params.out, {params.rows.dim(0), params.x.dim(1)})
          .kernel(kernels.gather_rows != nullptr, kernels.name)
          .status());
  return kernels.gather_rows(stream, params);
}

}  // namespace godwit::ops
