#include "moe/router.h"

#include <span>
#include <vector>

#include "ops/dense.h"
#include "ops/moe.h"

namespace godwit {
namespace {

/// Reads a table of i64 or i32 and narrows it.
Result<Tensor> load_table(WeightsReader& reader, const std::string& name,
                          const RouterConfig& config) {
  const Tensor stored =
      TRY(reader.read(name, {config.vocab_size, config.top_k}, WeightKind::kIndex));
  const auto count = static_cast<std::size_t>(stored.elements());
  std::vector<std::int64_t> wide(count);
  std::vector<std::int32_t> narrow(count);
  if (stored.dtype == DType::kI64) {
    TRY(reader.stream().copy_out(std::as_writable_bytes(std::span(wide)), stored.data));
    TRY(reader.stream().synchronize());
  } else {
    TRY(reader.stream().copy_out(std::as_writable_bytes(std::span(narrow)), stored.data));
    TRY(reader.stream().synchronize());
    wide.assign(narrow.begin(), narrow.end());
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (wide[i] < 0 || wide[i] >= config.num_experts) {
      return invalid_argument(name + " names expert " + std::to_string(wide[i]) + " of " +
                                  std::to_string(config.num_experts),
                              "the file is damaged or was written wrongly; fetch it again");
    }
    narrow[i] = static_cast<std::int32_t>(wide[i]);
  }
  const Tensor table = TRY(reader.allocate(DType::kI32, {config.vocab_size, config.top_k}));
  TRY(reader.stream().copy_in(table.data, std::as_bytes(std::span(narrow))));
  TRY(reader.stream().synchronize());
  return table;
}

}  // namespace

Result<Router> Router::load(WeightsReader& reader, const std::string& prefix,
                            const RouterConfig& config) {
  Router router;
  router.config = config;
  router.gate = TRY(Linear::load(reader, prefix + config.gate, config.hidden_size,
                                 config.num_experts, config.gate_bias));
  if (config.correction != nullptr) {
    const std::string name = prefix + config.correction;
    router.correction =
        config.correction_is_matrix
            ? TRY(reader.read(name, {1, config.num_experts}, WeightKind::kVector)).entry(0)
            : TRY(reader.read(name, {config.num_experts}, WeightKind::kVector));
  }
  if (config.factors != nullptr) {
    router.factors =
        TRY(reader.read(prefix + config.factors, {config.num_experts}, WeightKind::kVector));
  }
  if (config.table != nullptr) {
    router.table = TRY(load_table(reader, prefix + config.table, config));
  }
  return router;
}

Result<Routing> Router::forward(const Context& context, const Tensor& token_ids,
                                const Tensor& x) const {
  Workspace& workspace = context.stream.workspace();
  const std::int64_t tokens = x.dim(0);
  const Routing routing = {.ids = TRY(workspace.tensor(DType::kI32, {tokens, config.top_k})),
                           .weights = TRY(workspace.tensor(DType::kF32, {tokens, config.top_k}))};
  const Workspace::Scope scope(workspace);
  const Tensor logits = TRY(workspace.tensor(DType::kF32, {tokens, config.num_experts}));
  TRY(ops::gemm(context.stream, {.x = x,
                                 .weight = gate.weight,
                                 .bias = gate.bias,
                                 .out = logits,
                                 .precision = Precision::kExact}));
  TRY(ops::route(context.stream, {.logits = logits,
                                  .bias = correction,
                                  .table = table,
                                  .tokens = token_ids,
                                  .ids = routing.ids,
                                  .weights = routing.weights,
                                  .rule = config.rule,
                                  .factors = factors}));
  return routing;
}

}  // namespace godwit
