#pragma once
// The indexer of sparse attention: cheap scores that choose which positions a token attends to.

#include <cstdint>
#include <string>

#include "base/status.h"
#include "layers/context.h"
#include "layers/layer_norm.h"
#include "layers/linear.h"
#include "layers/rotary.h"
#include "weights/weights_reader.h"

namespace godwit {

struct IndexerConfig {
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;  ///< Of which the first channels are rotated, as many as the rope has.
  std::int64_t most = 0;      ///< Positions that a token attends to at most.
  bool interleaved_rope = false;  ///< See RopeConfig; all else of the rope is the attention's.
};

/// Source: DeepSeek-AI 2025, "DeepSeek-V3.2" (lightning indexer). Without the published code's
/// Hadamard transform, which changes no score, and without its rounding to fp8.
struct Indexer {
  IndexerConfig config;
  Linear q_proj;  ///< From what the attention's queries are made of.
  Linear k_proj;  ///< From the layer's input, as the weights.
  LayerNorm k_norm;
  Linear weights_proj;  ///< One weight a head.

  /// Reads `prefix`.wq_b, wk, k_norm and weights_proj.
  static Result<Indexer> load(WeightsReader& reader, const std::string& prefix,
                              std::int64_t hidden_size, std::int64_t q_lora_rank,
                              const IndexerConfig& config);

  /// Writes the tokens' index keys to `cache` and their choices to `chosen`, see
  /// ChoosePositionsParams. Shapes: x [tokens, hidden_size], q_latent [tokens, q_lora_rank], chosen
  /// [tokens, most] i32.
  Status forward(const Context& context, const LayerCache& cache, const Rotary& rotary,
                 const Tensor& x, const Tensor& q_latent, const Tensor& chosen) const;
};

}  // namespace godwit
