#include "moe/experts.h"

#include <string_view>
#include <vector>

#include "ops/moe.h"

namespace godwit {
namespace {

/// The names of one matrix of all experts.
std::vector<std::string> expert_names(const std::string& prefix, std::string_view pattern,
                                      std::int64_t count) {
  const std::size_t mark = pattern.find('#');
  std::vector<std::string> names;
  for (std::int64_t e = 0; e < count; ++e) {
    names.push_back(prefix + std::string(pattern.substr(0, mark)) + std::to_string(e) +
                    std::string(pattern.substr(mark + 1)));
  }
  return names;
}

}  // namespace

Status Experts::load_each(WeightsReader& reader, const std::string& prefix) {
  const std::int64_t count = config.num_experts;
  const std::int64_t hidden = config.hidden_size;
  std::vector<std::string> gates;
  if (config.gate != nullptr) {
    gates = expert_names(prefix, config.gate, count);
    TRY(reader.check_stack(gates, {config.width, hidden}));
  }
  const std::vector<std::string> ups = expert_names(prefix, config.up, count);
  const std::vector<std::string> downs = expert_names(prefix, config.down, count);
  TRY(reader.check_stack(ups, {config.width, hidden}));
  TRY(reader.check_stack(downs, {hidden, config.width}));
  if (!gates.empty()) {
    gate = TRY(reader.read_stack(gates, {config.width, hidden}));
  }
  up = TRY(reader.read_stack(ups, {config.width, hidden}));
  down = TRY(reader.read_stack(downs, {hidden, config.width}));
  return {};
}

Status Experts::load_fused(WeightsReader& reader, const std::string& prefix) {
  const std::int64_t count = config.num_experts;
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t width = config.width;
  Tensor both;
  if (config.storage == ExpertStorage::kRows) {
    both = TRY(reader.read(prefix + config.gate, {count, 2 * width, hidden}));
    down = TRY(reader.read(prefix + config.down, {count, hidden, width}));
  } else {
    const bool interleaved = config.storage == ExpertStorage::kInterleavedColumns;
    both = TRY(
        reader.read_transposed_stack(prefix + config.gate, {.matrices = count,
                                                            .rows = 2 * width,
                                                            .columns = hidden,
                                                            .interleaved = interleaved ? 2 : 1}));
    down = TRY(reader.read_transposed_stack(prefix + config.down,
                                            {.matrices = count, .rows = hidden, .columns = width}));
  }
  gate = both.slice(1, 0, width);
  up = both.slice(1, width, width);
  return config.has_bias ? load_biases(reader, prefix) : Status();
}

Status Experts::load_biases(WeightsReader& reader, const std::string& prefix) {
  const std::int64_t width = config.width;
  const bool interleaved = config.storage == ExpertStorage::kInterleavedColumns;
  const Tensor both = TRY(reader.read_transposed_stack(prefix + config.gate + "_bias",
                                                       {.matrices = config.num_experts,
                                                        .rows = 2 * width,
                                                        .columns = 1,
                                                        .interleaved = interleaved ? 2 : 1}))
                          .reshape({config.num_experts, 2 * width});
  gate_bias = both.slice(1, 0, width);
  up_bias = both.slice(1, width, width);
  down_bias = TRY(reader.read(prefix + config.down + "_bias",
                              {config.num_experts, config.hidden_size}, WeightKind::kVector));
  return {};
}

Result<Experts> Experts::load(WeightsReader& reader, const std::string& prefix,
                              const ExpertsConfig& config) {
  Experts experts;
  experts.config = config;
  if (config.fused_gate != nullptr && reader.contains(prefix + config.fused_gate)) {
    experts.config.storage = ExpertStorage::kRows;
    experts.config.gate = config.fused_gate;
    experts.config.down = config.fused_down;
  }
  TRY(experts.config.storage == ExpertStorage::kEach ? experts.load_each(reader, prefix)
                                                     : experts.load_fused(reader, prefix));
  return experts;
}

Status Experts::forward(const Context& context, const Tensor& x, const Routing& routing,
                        const Tensor& rows) const {
  return ops::experts(context.stream,
                      {.x = x,
                       .ids = routing.ids,
                       .x_weights = config.weights_on_input ? routing.weights : Tensor(),
                       .gate = gate,
                       .up = up,
                       .down = down,
                       .gate_bias = gate_bias,
                       .up_bias = up_bias,
                       .down_bias = down_bias,
                       .out = rows,
                       .form = config.form,
                       .precision = context.precision});
}

}  // namespace godwit
