#include "layers/mlp.h"

#include "ops/dense.h"

namespace godwit {

Result<GatedMlp> GatedMlp::load(WeightsReader& reader, const std::string& prefix,
                                const GatedMlpConfig& config) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t width = config.intermediate_size;
  const bool bias = config.has_bias;
  GatedMlp mlp;
  mlp.config = config;
  if (config.fused) {
    const Linear both =
        TRY(Linear::load(reader, prefix + "." + config.gate_up, hidden, 2 * width, bias));
    mlp.gate_proj = both.rows(0, width);
    mlp.up_proj = both.rows(width, width);
  } else {
    if (config.gate != nullptr) {
      mlp.gate_proj = TRY(Linear::load(reader, prefix + "." + config.gate, hidden, width, bias));
    }
    mlp.up_proj = TRY(Linear::load(reader, prefix + "." + config.up, hidden, width, bias));
  }
  mlp.down_proj = TRY(Linear::load(reader, prefix + "." + config.down, width, hidden, bias));
  return mlp;
}

Result<Tensor> GatedMlp::inner(const Context& context, const Tensor& x) const {
  Workspace& workspace = context.stream.workspace();
  const std::int64_t tokens = x.dim(0);
  Tensor up = TRY(workspace.tensor(DType::kF32, {tokens, config.intermediate_size}));
  TRY(up_proj.forward(context, x, up));
  if (gate_proj.weight.empty()) {
    TRY(ops::activation(context.stream,
                        {.x = up, .out = up, .activation = config.form.activation}));
    return up;
  }
  Tensor gate = TRY(workspace.tensor(DType::kF32, {tokens, config.intermediate_size}));
  TRY(gate_proj.forward(context, x, gate));
  TRY(ops::gated_activation(context.stream,
                            {.gate = gate, .up = up, .out = gate, .form = config.form}));
  return gate;
}

Status GatedMlp::forward(const Context& context, const Tensor& x, Tensor& out) const {
  Workspace::Scope scope(context.stream.workspace());
  return down_proj.forward(context, TRY(inner(context, x)), out);
}

Status GatedMlp::forward_add(const Context& context, const Tensor& x, Tensor& out) const {
  Workspace::Scope scope(context.stream.workspace());
  return down_proj.forward_add(context, TRY(inner(context, x)), out);
}

}  // namespace godwit
