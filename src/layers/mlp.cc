#include "layers/mlp.h"

#include "ops/dense.h"

namespace godwit {

Result<GatedMlp> GatedMlp::load(WeightsReader& reader, const std::string& prefix,
                                std::int64_t hidden_size, std::int64_t intermediate_size,
                                bool has_bias) {
  GatedMlp mlp;
  mlp.gate_proj =
      TRY(Linear::load(reader, prefix + ".gate_proj", hidden_size, intermediate_size, has_bias));
  mlp.up_proj =
      TRY(Linear::load(reader, prefix + ".up_proj", hidden_size, intermediate_size, has_bias));
  mlp.down_proj =
      TRY(Linear::load(reader, prefix + ".down_proj", intermediate_size, hidden_size, has_bias));
  return mlp;
}

Status GatedMlp::forward(const Context& context, const Tensor& x, Tensor& residual) const {
  Workspace::Scope scope(context.stream.workspace());
  const std::int64_t tokens = x.dim(0);
  const std::int64_t width = gate_proj.weight.dim(0);
  Tensor gate = TRY(context.stream.workspace().tensor(DType::kF32, {tokens, width}));
  Tensor up = TRY(context.stream.workspace().tensor(DType::kF32, {tokens, width}));
  TRY(gate_proj.forward(context, x, gate));
  TRY(up_proj.forward(context, x, up));
  TRY(ops::gated_activation(
      context.stream, {.gate = gate, .up = up, .out = gate, .activation = Activation::kSilu}));
  return down_proj.forward_add(context, gate, residual);
}

}  // namespace godwit
