#pragma once
// The decoder that GPT-2 and its heirs share: LayerNorm, a feed-forward block without a gate, and
// attention before it or beside it. A model file of this kind says how its config fills
// GptDecoderConfig and what its tensors are called.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layers/attention.h"
#include "layers/layer_norm.h"
#include "layers/rotary.h"
#include "models/config_reader.h"
#include "models/layer_fields.h"
#include "models/model.h"

namespace godwit {

/// How the rows of the projection to queries, keys and values are stored.
enum class QkvLayout : std::uint8_t {
  kSeparate,  ///< Three tensors.
  kStacked,   ///< One: all queries, all keys, all values.
  kGrouped,   ///< One: for each head of keys its queries, its keys, its values.
};

/// What a checkpoint calls the modules; a null name is a module that the model lacks.
struct GptNames {
  const char* base;  ///< Before all names but the head's; some checkpoints leave it out.
  const char* embedding;
  const char* positions = nullptr;
  const char* embedding_norm = nullptr;
  const char* layers;  ///< Before the layer's number.
  const char* attention_norm;
  const char* mlp_norm = nullptr;  ///< Null when one norm feeds attention and feed-forward block.
  const char* qkv = nullptr;       ///< Of the fused layouts; else the next three.
  const char* q = nullptr;
  const char* k = nullptr;
  const char* v = nullptr;
  const char* attention_out;
  const char* mlp_up;
  const char* mlp_down;
  const char* final_norm;
  const char* head = "lm_head";
};

struct GptDecoderConfig {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t max_positions = 0;
  LayerNormConfig norm;
  Activation activation = Activation::kGelu;
  std::optional<RopeConfig> rope;
  bool alibi = false;
  std::int64_t position_offset = 0;  ///< Rows of a learned table of positions before position 0.
  bool parallel = false;             ///< Both blocks read the same input and are added to it.
  QkvLayout qkv_layout = QkvLayout::kStacked;
  bool transposed = false;  ///< Linear layers are stored as [in, out].
  bool qkv_bias = true;
  bool attention_out_bias = true;
  bool mlp_bias = true;
  bool head_bias = false;
  bool tied_embeddings = true;
  GptNames names;
};

/// Checks sizes against each other and derives the size of a head, hidden_size / num_heads, where
/// it is 0.
Status check_gpt_config(const ConfigReader& reader, GptDecoderConfig& config);

/// The field under the first of two names that is there: published files of one family differ.
const char* either(const ConfigReader& reader, const char* key, const char* other);

/// kStacked where the config was made from a GGUF file, whose converter leaves no other fused
/// layout; else `usual`.
Result<QkvLayout> read_qkv_layout(const ConfigReader& reader, QkvLayout usual);

/// Reads a rope without scaling: from `rope_parameters`, or from fields called `theta` and, for
/// models that rotate a part of each head, `fraction` (else null) or, as GGUF files say it,
/// rotary_dim.
Result<RopeConfig> read_gpt_rope(const ConfigReader& reader, std::int64_t head_dim,
                                 const char* theta, const char* fraction);

/// The slope of each head: 2^(-8i/n) for i = 1 .. n where n is a power of two; else those of the
/// next smaller power, then every other one of the next greater.
/// Source: Press et al. 2022, "Train Short, Test Long", and its published code.
std::vector<float> alibi_slopes(std::int64_t num_heads);

struct GptLayer {
  LayerNorm attention_norm;
  std::optional<LayerNorm> mlp_norm;
  Attention attention;
  Linear up;
  Linear down;
};

class GptDecoder final : public Model {
 public:
  explicit GptDecoder(GptDecoderConfig config);

  [[nodiscard]] const ModelGeometry& geometry() const override { return geometry_; }
  [[nodiscard]] std::vector<LayerCacheSpec> cache_specs() const override;
  Status load(WeightsReader& reader, std::int64_t max_positions) override;
  Status forward(const Context& context, const Tensor& ids, Tensor& hidden) const override;
  Status logits(const Context& context, Tensor& hidden, Tensor& out) const override;

 private:
  Result<Linear> load_linear(WeightsReader& reader, const std::string& name, std::int64_t in,
                             std::int64_t out, bool has_bias) const;
  Status load_qkv(WeightsReader& reader, const std::string& layer, Attention& attention) const;
  Result<GptLayer> load_layer(WeightsReader& reader, const std::string& base,
                              std::int64_t index) const;
  Status mlp(const Context& context, const GptLayer& layer, const Tensor& x,
             Tensor& residual) const;

  GptDecoderConfig config_;
  ModelGeometry geometry_;
  Tensor embedding_;  // [vocab_size, hidden_size]
  Tensor positions_;  // [max_positions, hidden_size], or empty
  std::optional<LayerNorm> embedding_norm_;
  Tensor alibi_slopes_;  // [num_heads], or empty
  Rotary rotary_;
  std::vector<GptLayer> layers_;
  LayerNorm final_norm_;
  Linear lm_head_;
};

}  // namespace godwit
