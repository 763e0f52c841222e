#include "moe/moe_layer.h"

#include <algorithm>

#include "ops/dense.h"
#include "ops/moe.h"

namespace godwit {
namespace {

/// Most numbers of a step's expert rows that are held at a time: 128 MiB.
constexpr std::int64_t kRowElements = std::int64_t{1} << 25;

}  // namespace

Result<MoeLayer> MoeLayer::load(WeightsReader& reader, const std::string& prefix,
                                const MoeConfig& config) {
  MoeLayer layer;
  layer.config = config;
  layer.router = TRY(Router::load(reader, prefix, config.router));
  layer.experts = TRY(Experts::load(reader, prefix, config.experts));
  if (config.shared) {
    layer.shared = TRY(GatedMlp::load(reader, prefix + config.shared->name, config.shared->mlp));
    if (config.shared->gate != nullptr) {
      layer.shared_gate = TRY(
          Linear::load(reader, prefix + config.shared->gate, config.router.hidden_size, 1, false));
    }
  }
  return layer;
}

Status MoeLayer::add_shared(const Context& context, const Tensor& x, Tensor& out) const {
  if (shared_gate.weight.empty()) {
    return shared->forward_add(context, x, out);
  }
  // A router of one expert: its weight is the sigmoid of the gate.
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  const Router gate = {
      .config = {.num_experts = 1, .top_k = 1, .rule = {.score = RouterScore::kSigmoid}},
      .gate = shared_gate,
      .correction = {},
      .table = {}};
  const Routing routing = TRY(gate.forward(context, {}, x));
  Tensor rows = TRY(workspace.tensor(DType::kF32, {x.dim(0), x.dim(1)}));
  TRY(shared->forward(context, x, rows));
  return ops::combine_experts(context.stream, {.rows = rows.reshape({x.dim(0), 1, x.dim(1)}),
                                               .ids = routing.ids,
                                               .weights = routing.weights,
                                               .out = out,
                                               .accumulate = true});
}

Status MoeLayer::run(const Context& context, const Tensor& token_ids, const Rows& rows,
                     bool accumulate) const {
  Workspace& workspace = context.stream.workspace();
  const std::int64_t tokens = rows.x.dim(0);
  const std::int64_t hidden = rows.x.dim(1);
  const std::int64_t top_k = config.router.top_k;
  const std::int64_t most = std::max<std::int64_t>(1, kRowElements / (top_k * hidden));
  for (std::int64_t first = 0; first < tokens; first += most) {
    const Workspace::Scope scope(workspace);
    const std::int64_t count = std::min(most, tokens - first);
    const Tensor part = rows.x.slice(0, first, count);
    Tensor to = rows.out.slice(0, first, count);
    const Routing routing = TRY(router.forward(context, token_ids.slice(0, first, count),
                                               rows.router_x.slice(0, first, count)));
    const Tensor found = TRY(workspace.tensor(DType::kF32, {count, top_k, hidden}));
    TRY(experts.forward(context, part, routing, found));
    TRY(ops::combine_experts(
        context.stream, {.rows = found,
                         .ids = routing.ids,
                         .weights = config.experts.weights_on_input ? Tensor() : routing.weights,
                         .out = to,
                         .accumulate = accumulate,
                         .x = config.identity_experts > 0 ? part : Tensor(),
                         .num_experts = config.experts.num_experts}));
    if (shared) {
      TRY(add_shared(context, part, to));
    }
  }
  return {};
}

Status MoeLayer::forward(const Context& context, const Tensor& token_ids, const Tensor& x,
                         Tensor& out) const {
  return run(context, token_ids, {.router_x = x, .x = x, .out = out}, false);
}

Status MoeLayer::forward(const Context& context, const Tensor& token_ids, const Tensor& router_x,
                         const Tensor& x, Tensor& out) const {
  return run(context, token_ids, {.router_x = router_x, .x = x, .out = out}, false);
}

Status MoeLayer::forward_add(const Context& context, const Tensor& token_ids, const Tensor& x,
                             Tensor& out) const {
  return run(context, token_ids, {.router_x = x, .x = x, .out = out}, true);
}

}  // namespace godwit
