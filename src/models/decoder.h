#pragma once
// The decoder that Llama and its relatives share: attention and a gated feed-forward block, with
// norms before, after or around them. A model file of this kind says how its config fills
// DecoderConfig; what differs more has a forward of its own.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layers/attention.h"
#include "layers/mla.h"
#include "layers/mlp.h"
#include "layers/norm.h"
#include "layers/recurrent.h"
#include "layers/rotary.h"
#include "models/config_reader.h"
#include "models/layer_fields.h"
#include "models/model.h"
#include "moe/moe_layer.h"

namespace godwit {

/// What a checkpoint calls the norms of a layer; a null name is a norm that the layer lacks. Norms
/// after a block are applied to what it adds to the residual stream.
struct BlockNorms {
  const char* before_attention = "input_layernorm";
  const char* after_attention = nullptr;
  const char* before_mlp = "post_attention_layernorm";
  const char* after_mlp = nullptr;
};

/// How queries grow with their position: * (1 + scale * log(1 + floor((position + 1) / period))).
/// Source: Llama 4's published code ("attention temperature").
struct QueryTemperature {
  double scale = 0.0;
  double period = 1.0;
};

struct DecoderLayerConfig {
  std::int64_t window = 0;              ///< Positions a token sees; 0 = all.
  std::int64_t chunk = 0;               ///< See AttentionParams; 0 = none.
  std::optional<std::size_t> rope = 0;  ///< Which of DecoderConfig::ropes; none: no positions.
  std::int64_t num_kv_heads = 0;        ///< 0: DecoderConfig::num_kv_heads.
  bool qk_norm = true;                  ///< Whether it has DecoderConfig::qk_norm.
  bool sinks = true;                    ///< Whether it has DecoderConfig::sinks.
  bool sparse = false;                  ///< DecoderConfig::moe instead of a feed-forward block.
  bool has_indexer = true;    ///< Where MlaConfig has one; else the last layer's choice holds.
  bool temperature = false;   ///< Whether it has DecoderConfig::temperature.
  bool recurrent = false;     ///< DecoderConfig::recurrent instead of attention.
  bool has_attention = true;  ///< Or a recurrent layer.
  bool has_mlp = true;        ///< Or experts.
};

struct DecoderConfig {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;  ///< See AttentionConfig.
  std::int64_t max_positions = 0;
  std::int64_t draft_layers = 0;  ///< Stored after the others, to draft further tokens; not used.
  NormConfig norm;
  BlockNorms block_norms;
  bool parallel = false;  ///< Both blocks read the norm before attention; there are no other norms.
  Activation activation = Activation::kSilu;
  std::vector<RopeConfig> ropes;
  std::vector<DecoderLayerConfig> layers;  ///< One a layer.
  bool tied_embeddings = false;            ///< The head's weights are the embedding's.
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool lm_head_bias = false;
  bool fused_qkv = false;      ///< See AttentionConfig.
  bool fused_gate_up = false;  ///< See GatedMlpConfig.
  std::optional<MoeConfig> moe;
  std::optional<MlaConfig> mla;  ///< Instead of grouped-query attention; without the layer's own.
  std::optional<RecurrentConfig> recurrent;  ///< Of the layers that say so.
  const char* recurrent_name = "mamba";      ///< Of its tensors.
  std::optional<QkNormConfig> qk_norm;
  bool attention_gate = false;           ///< See AttentionConfig::output_gate.
  float qkv_limit = 0.0F;                ///< See AttentionConfig.
  std::optional<float> attention_scale;  ///< Of the scores; 1 / sqrt(head_dim) when absent.
  float attention_softcap = 0.0F;        ///< Of the scores; 0 = none.
  std::optional<QueryTemperature> temperature;
  float value_scale = 1.0F;
  const char* sinks = nullptr;              ///< See AttentionConfig.
  const char* mlp_name = "mlp";             ///< Of the feed-forward block's tensors.
  const char* mlp_gate_name = "gate_proj";  ///< Null: the block has no gate.
  const char* attention_name = "self_attn";
  const char* gate_up_name = "gate_up_proj";  ///< Of its parts, as the next one.
  const char* down_name = "down_proj";
  const char* embedding_name = "model.embed_tokens";
  const char* layers_name = "model.layers";
  const char* final_norm = "model.norm";
  const char* draft_part = nullptr;  ///< Prefix of tensors that draft tokens; not used.
  float embedding_scale = 1.0F;
  float residual_scale = 1.0F;  ///< Of what each block adds.
  float logits_scale = 1.0F;
  float logits_softcap = 0.0F;  ///< After logits_scale; 0 = none.
};

/// How the config of a family differs in what read_decoder_config() reads.
struct DecoderFields {
  const char* activation = "hidden_act";  ///< Null: the family has but kSilu.
  const char* num_layers = "num_hidden_layers";
  std::int64_t layer_count = 0;  ///< Instead of that field, where it may be missing.
  const char* max_positions = "max_position_embeddings";
  const char* intermediate_size = "intermediate_size";
  const char* epsilon = "rms_norm_eps";
  bool layer_norm = false;          ///< Layer norms without bias instead of root mean square norms.
  float norm_weight_offset = 0.0F;  ///< See RmsNormConfig.
  bool tied_when_absent = false;    ///< What a config without tie_word_embeddings means.
  bool one_rope = true;             ///< False: the model file fills `ropes`.
  bool partial_rotation = false;    ///< See RopeReading.
  bool latent_attention = false;    ///< DecoderConfig::mla, from which size of heads and rope come.
};

/// Reads and checks the fields that all decoders share: sizes, norm, activation, rope, tying. No
/// layer gets a window, all get rope 0.
Result<DecoderConfig> read_decoder_config(const ConfigReader& reader,
                                          const DecoderFields& fields = {});

/// Reads `attention_bias` (false when absent) for families in which it is the bias of all four
/// projections.
Status read_attention_bias(const ConfigReader& reader, DecoderConfig& config);

/// Takes the rope from layers: `no_rope_layers` has a 1 for each layer with rope, its name
/// notwithstanding; where it is absent or empty, every n-th layer has none, with n of
/// `no_rope_layer_interval` or, where the config lacks that too, `interval`.
Status read_rope_layers(const ConfigReader& reader, std::int64_t interval, DecoderConfig& config);

/// Gives each layer its window.
void set_windows(DecoderConfig& config, const std::vector<std::int64_t>& windows);

/// Which of DecoderConfig::ropes layers have; none: no positions.
struct RopeChoice {
  std::optional<std::size_t> with_window;
  std::optional<std::size_t> without;
};
/// Gives each layer its rope, by whether it has a window.
void set_ropes(DecoderConfig& config, const RopeChoice& choice);

struct DecoderLayer {
  std::optional<Norm> before_attention;
  std::optional<Attention> attention;  ///< Or:
  std::optional<Mla> mla;              ///< Or:
  std::optional<Recurrent> recurrent;
  std::optional<Norm> after_attention;
  std::optional<Norm> before_mlp;
  std::optional<GatedMlp> mlp;  ///< Or:
  std::optional<MoeLayer> moe;
  std::optional<Norm> after_mlp;
};

class Decoder final : public Model {
 public:
  explicit Decoder(DecoderConfig config);

  [[nodiscard]] const ModelGeometry& geometry() const override { return geometry_; }
  [[nodiscard]] std::vector<LayerCacheSpec> cache_specs() const override;
  Status load(WeightsReader& reader, std::int64_t max_positions) override;
  Status forward(const Context& context, const Tensor& ids, Tensor& hidden) const override;
  Status logits(const Context& context, Tensor& hidden, Tensor& out) const override;

 private:
  /// The attention of layer `index`.
  [[nodiscard]] AttentionConfig attention_config(std::int64_t index) const;
  Status load_ropes(WeightsReader& reader, std::int64_t max_positions);
  [[nodiscard]] MlaConfig mla_config(std::int64_t index) const;
  /// Loads what mixes the tokens of layer `index`, of whichever kind.
  Status load_attention(WeightsReader& reader, const std::string& prefix, std::int64_t index,
                        DecoderLayer& layer) const;
  Result<DecoderLayer> load_layer(WeightsReader& reader, std::int64_t index) const;
  /// Adds the attention block of layer `index` to `hidden`; the next one likewise. `normed` is
  /// scratch as large as hidden, and holds what a parallel block reads; `chosen` is as in Mla.
  Status add_attention(const Context& context, std::size_t index, const Tensor& chosen,
                       Tensor& normed, Tensor& hidden) const;
  Status add_mlp(const Context& context, const DecoderLayer& layer, const Tensor& ids,
                 Tensor& normed, Tensor& hidden) const;
  /// Adds to `hidden` what block(out) writes, normed by `after` and scaled. `add_block(hidden)` is
  /// the same where the model does neither.
  template <class Block, class AddBlock>
  Status add_branch(const Context& context, const std::optional<Norm>& after, const Block& block,
                    const AddBlock& add_block, Tensor& hidden) const;

  DecoderConfig config_;
  ModelGeometry geometry_;
  Tensor embedding_;  // [vocab_size, hidden_size]
  std::vector<Rotary> rotaries_;
  std::vector<DecoderLayer> layers_;
  Norm final_norm_;
  Linear lm_head_;
};

}  // namespace godwit
