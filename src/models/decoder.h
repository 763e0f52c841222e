#pragma once
// The decoder that Llama, Qwen2 and Qwen3 share: before each block a norm, after it a residual sum.
// A model file of this kind says how its config fills DecoderConfig; what differs more has a
// forward of its own.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "layers/attention.h"
#include "layers/mlp.h"
#include "layers/rms_norm.h"
#include "layers/rotary.h"
#include "models/config_reader.h"
#include "models/model.h"

namespace godwit {

struct DecoderConfig {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t max_positions = 0;
  float rms_norm_epsilon = 0.0F;
  RopeConfig rope;
  std::vector<std::int64_t> windows;  ///< One a layer: positions a token sees; 0 = all.
  bool tied_embeddings = false;       ///< The head's weights are the embedding's.
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;  ///< A norm on each head of q and k.
};

/// Reads and checks the fields that all decoders share: sizes, epsilon, rope, tying. No layer gets
/// a window.
Result<DecoderConfig> read_decoder_config(const ConfigReader& reader);

/// One window a layer, for models that have them: from `layer_types` or, in older files, from
/// max_window_layers; none unless use_sliding_window is true.
Result<std::vector<std::int64_t>> read_windows(const ConfigReader& reader, std::int64_t num_layers);

/// The size of a head: `head_dim` when it is there and > 0, else hidden_size / num_attention_heads,
/// which must divide. Some checkpoints say head_dim 0 and mean that it is absent.
Result<std::int64_t> derive_head_dim(const ConfigReader& reader, std::int64_t hidden_size,
                                     std::int64_t num_heads);

/// Reads either form of a config's rope fields: `rope_parameters`, or `rope_theta` and
/// `rope_scaling`.
Result<RopeConfig> read_rope_config(const ConfigReader& reader, std::int64_t rotary_dim);

struct DecoderLayer {
  RmsNorm input_norm;
  Attention attention;
  RmsNorm post_attention_norm;
  GatedMlp mlp;
};

class Decoder final : public Model {
 public:
  explicit Decoder(DecoderConfig config);

  [[nodiscard]] const ModelGeometry& geometry() const override { return geometry_; }
  [[nodiscard]] KvCacheSpec kv_cache_spec() const override;
  Status load(WeightsReader& reader, std::int64_t max_positions) override;
  Status forward(const Context& context, const Tensor& ids, Tensor& hidden) const override;
  Status logits(const Context& context, Tensor& hidden, Tensor& out) const override;

 private:
  DecoderConfig config_;
  ModelGeometry geometry_;
  Tensor embedding_;  // [vocab_size, hidden_size]
  Rotary rotary_;
  std::vector<DecoderLayer> layers_;
  RmsNorm final_norm_;
  Linear lm_head_;
};

}  // namespace godwit
