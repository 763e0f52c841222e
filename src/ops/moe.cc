#include "ops/moe.h"

#include "device/device.h"
#include "kernels/kernel_table.h"
#include "ops/shape_check.h"

namespace godwit::ops {
namespace {

constexpr std::initializer_list<DType> kVectorTypes = {DType::kF32, DType::kF16, DType::kBF16};

/// A matrix a row of which is the business of one expert: [experts, n, k].
void check_weight(ShapeCheck& check, const char* name, const Tensor& weight,
                  std::initializer_list<std::int64_t> shape) {
  check.weight(name, weight).shape(name, weight, shape);
  check.require(weight.rank == 3 && (weight.dim(1) <= 1 || weight.stride(1) == weight.dim(2)),
                "the rows of an expert are not contiguous");
}

void check_bias(ShapeCheck& check, const char* name, const Tensor& bias, std::int64_t experts,
                std::int64_t n) {
  if (!bias.empty()) {
    check.dtype(name, bias, kVectorTypes).shape(name, bias, {experts, n});
  }
}

/// What of a rule a kernel relies on.
bool is_sound(const RouteRule& rule, std::int64_t experts, std::int64_t top_k) {
  return rule.groups >= 1 && experts % rule.groups == 0 && rule.top_groups >= 1 &&
         rule.top_groups <= rule.groups && top_k <= experts / rule.groups * rule.top_groups;
}

}  // namespace

Status route(Stream& stream, const RouteParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t tokens = params.logits.dim(0);
  const std::int64_t experts = params.logits.dim(1);
  const std::int64_t top_k = params.ids.dim(1);
  ShapeCheck check("route");
  check.f32("logits", params.logits)
      .shape("logits", params.logits, {ShapeCheck::kAny, ShapeCheck::kAny})
      .i32("ids", params.ids)
      .shape("ids", params.ids, {tokens, top_k})
      .f32("weights", params.weights)
      .shape("weights", params.weights, {tokens, top_k})
      .require(is_sound(params.rule, experts, top_k), "the rule does not fit the experts");
  if (!params.bias.empty()) {
    check.dtype("bias", params.bias, kVectorTypes).shape("bias", params.bias, {experts});
  }
  if (!params.factors.empty()) {
    check.dtype("factors", params.factors, kVectorTypes)
        .shape("factors", params.factors, {experts});
  }
  if (!params.table.empty()) {
    check.i32("table", params.table)
        .shape("table", params.table, {ShapeCheck::kAny, top_k})
        .i32("tokens", params.tokens)
        .shape("tokens", params.tokens, {tokens});
  }
  TRY(check.kernel(kernels.route != nullptr, kernels.name).status());
  return kernels.route(stream, params);
}

Status experts(Stream& stream, const ExpertsParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t tokens = params.x.dim(0);
  const std::int64_t hidden = params.x.dim(1);
  const std::int64_t top_k = params.ids.dim(1);
  const std::int64_t count = params.up.dim(0);
  const std::int64_t width = params.up.dim(1);
  ShapeCheck check("experts");
  check.f32("x", params.x)
      .shape("x", params.x, {ShapeCheck::kAny, ShapeCheck::kAny})
      .i32("ids", params.ids)
      .shape("ids", params.ids, {tokens, top_k})
      .f32("out", params.out)
      .shape("out", params.out, {tokens, top_k, hidden});
  check_weight(check, "up", params.up, {count, width, hidden});
  check_weight(check, "down", params.down, {count, hidden, width});
  if (!params.gate.empty()) {
    check_weight(check, "gate", params.gate, {count, width, hidden});
  }
  check_bias(check, "gate_bias", params.gate_bias, count, width);
  check_bias(check, "up_bias", params.up_bias, count, width);
  check_bias(check, "down_bias", params.down_bias, count, hidden);
  if (!params.x_weights.empty()) {
    check.f32("x_weights", params.x_weights).shape("x_weights", params.x_weights, {tokens, top_k});
  }
  TRY(check.kernel(kernels.experts != nullptr, kernels.name).status());
  return kernels.experts(stream, params);
}

Status combine_experts(Stream& stream, const CombineExpertsParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t tokens = params.out.dim(0);
  const std::int64_t top_k = params.ids.dim(1);
  ShapeCheck check("combine_experts");
  check.f32("rows", params.rows)
      .shape("rows", params.rows, {tokens, top_k, params.out.dim(1)})
      .i32("ids", params.ids)
      .shape("ids", params.ids, {tokens, top_k})
      .f32("out", params.out)
      .shape("out", params.out, {tokens, ShapeCheck::kAny});
  if (!params.weights.empty()) {
    check.f32("weights", params.weights).shape("weights", params.weights, {tokens, top_k});
  }
  if (!params.x.empty()) {
    check.f32("x", params.x)
        .same_shape("x", params.x, params.out)
        .require(params.x.data != params.out.data, "x is out");
  }
  TRY(check.kernel(kernels.combine_experts != nullptr, kernels.name).status());
  return kernels.combine_experts(stream, params);
}

}  // namespace godwit::ops
