#pragma once
// The routed experts of a layer: their weights, however they are stored, and their work.

#include <cstdint>
#include <string>

#include "base/status.h"
#include "kernels/params/moe.h"
#include "layers/context.h"
#include "moe/router.h"
#include "weights/weights_reader.h"

namespace godwit {

/// How a checkpoint stores the matrices of the experts of one layer.
enum class ExpertStorage : std::uint8_t {
  kEach,     ///< One tensor an expert and matrix.
  kRows,     ///< [experts, 2 width, hidden], the gate's rows first; [experts, hidden, width].
  kColumns,  ///< [experts, hidden, 2 width], the gate's columns first; [experts, width, hidden].
  kInterleavedColumns,  ///< As kColumns, with the gate in the even columns and up in the odd ones.
};

struct ExpertsConfig {
  std::int64_t hidden_size = 0;
  std::int64_t num_experts = 0;
  std::int64_t width = 0;
  GatedForm form;
  bool has_bias = false;          ///< Of fused tensors, named as they are with "_bias" at the end.
  bool weights_on_input = false;  ///< A token's weight multiplies what its expert reads.
  ExpertStorage storage = ExpertStorage::kEach;
  /// Names of tensors, after the layer's prefix; # stands for an expert's number. Fused storage has
  /// gate and up under the gate's name.
  const char* gate = "mlp.experts.#.gate_proj.weight";  ///< Null: experts without gates.
  const char* up = "mlp.experts.#.up_proj.weight";
  const char* down = "mlp.experts.#.down_proj.weight";
  /// Names in files of the same family that store them as kRows; null: there are none.
  const char* fused_gate = nullptr;
  const char* fused_down = nullptr;
};

/// The weights are one tensor a matrix, [experts, rows, columns]: the checkpoint's own where it
/// stores them so, else packed at load.
struct Experts {
  ExpertsConfig config;
  Tensor gate;       ///< [experts, width, hidden]
  Tensor up;         ///< [experts, width, hidden]
  Tensor down;       ///< [experts, hidden, width]
  Tensor gate_bias;  ///< [experts, width], or empty, as the next ones
  Tensor up_bias;    ///< [experts, width]
  Tensor down_bias;  ///< [experts, hidden]

  /// Errors: as WeightsReader::read(); a missing expert is named before memory is taken.
  static Result<Experts> load(WeightsReader& reader, const std::string& prefix,
                              const ExpertsConfig& config);

  /// What each chosen expert makes of each token, unweighted unless the weights went into its
  /// input: rows [tokens, top_k, hidden]. Slots without an expert are left as they are.
  Status forward(const Context& context, const Tensor& x, const Routing& routing,
                 const Tensor& rows) const;

 private:
  Status load_each(WeightsReader& reader, const std::string& prefix);
  Status load_fused(WeightsReader& reader, const std::string& prefix);
  Status load_biases(WeightsReader& reader, const std::string& prefix);
};

}  // namespace godwit
