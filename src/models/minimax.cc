// MiniMax-01: lightning attention, and softmax attention every few layers; experts in all. What a
// block adds to is its norm's output, and both are weighed.

#include <optional>
#include <string>

#include "models/moe_fields.h"
#include "models/recurrent_fields.h"
#include "ops/dense.h"

namespace godwit {
namespace {

/// hidden = kept * norm(hidden) + added * block(norm(hidden)).
struct StreamWeights {
  float kept = 1.0F;
  float added = 1.0F;
};

struct MiniMaxConfig {
  DecoderConfig decoder;
  LightningConfig lightning;
  StreamWeights softmax;
  StreamWeights linear;
  StreamWeights mlp;
};

struct MiniMaxLayer {
  Norm before_mixer;
  std::optional<Attention> attention;  ///< Or:
  std::optional<Recurrent> lightning;
  Norm before_experts;
  MoeLayer experts;
};

class MiniMax final : public Model {
 public:
  explicit MiniMax(MiniMaxConfig config) : config_(std::move(config)) {
    const DecoderConfig& decoder = config_.decoder;
    geometry_ = {.num_layers = decoder.num_layers,
                 .vocab_size = decoder.vocab_size,
                 .hidden_size = decoder.hidden_size,
                 .num_heads = decoder.num_heads,
                 .intermediate_size = decoder.intermediate_size,
                 .max_positions = decoder.max_positions};
  }

  [[nodiscard]] const ModelGeometry& geometry() const override { return geometry_; }
  [[nodiscard]] std::vector<LayerCacheSpec> cache_specs() const override;
  Status load(WeightsReader& reader, std::int64_t max_positions) override;
  Status forward(const Context& context, const Tensor& ids, Tensor& hidden) const override;
  Status logits(const Context& context, Tensor& hidden, Tensor& out) const override {
    TRY(final_norm_.forward(context, hidden, hidden));
    return lm_head_.forward(context, hidden, out);
  }

 private:
  [[nodiscard]] bool is_recurrent(std::int64_t index) const {
    return config_.decoder.layers[static_cast<std::size_t>(index)].recurrent;
  }
  [[nodiscard]] AttentionConfig attention_config(std::int64_t index) const {
    const DecoderConfig& decoder = config_.decoder;
    return {.layer = index,
            .hidden_size = decoder.hidden_size,
            .num_heads = decoder.num_heads,
            .num_kv_heads = decoder.num_kv_heads,
            .head_dim = decoder.head_dim};
  }
  Result<MiniMaxLayer> load_layer(WeightsReader& reader, std::int64_t index) const;
  /// hidden = weights.kept * normed + weights.added * found.
  static Status combine(const Context& context, const StreamWeights& weights, const Tensor& normed,
                        const Tensor& found, Tensor& hidden);

  MiniMaxConfig config_;
  ModelGeometry geometry_;
  Tensor embedding_;  // [vocab_size, hidden_size]
  Rotary rotary_;
  std::vector<MiniMaxLayer> layers_;
  Norm final_norm_;
  Linear lm_head_;
};

std::vector<LayerCacheSpec> MiniMax::cache_specs() const {
  std::vector<LayerCacheSpec> specs;
  for (std::int64_t i = 0; i < config_.decoder.num_layers; ++i) {
    if (is_recurrent(i)) {
      specs.push_back(cache_spec_of(at_layer(config_.lightning, i)));
      continue;
    }
    const AttentionConfig attention = attention_config(i);
    specs.push_back({.layer = i,
                     .num_kv_heads = attention.num_kv_heads,
                     .key_dim = attention.head_dim,
                     .value_dim = attention.head_dim});
  }
  return specs;
}

Result<MiniMaxLayer> MiniMax::load_layer(WeightsReader& reader, std::int64_t index) const {
  const DecoderConfig& decoder = config_.decoder;
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  const std::string mixer = prefix + "self_attn";
  MiniMaxLayer layer;
  layer.before_mixer =
      TRY(Norm::load(reader, prefix + "input_layernorm", decoder.hidden_size, decoder.norm));
  if (is_recurrent(index)) {
    layer.lightning = TRY(Recurrent::load(reader, mixer, at_layer(config_.lightning, index)));
  } else {
    layer.attention = TRY(Attention::load(reader, mixer, attention_config(index)));
  }
  layer.before_experts = TRY(
      Norm::load(reader, prefix + "post_attention_layernorm", decoder.hidden_size, decoder.norm));
  layer.experts = TRY(MoeLayer::load(reader, prefix, *decoder.moe));
  return layer;
}

Status MiniMax::load(WeightsReader& reader, std::int64_t max_positions) {
  const DecoderConfig& decoder = config_.decoder;
  constexpr const char* kEmbedding = "model.embed_tokens.weight";
  embedding_ = TRY(reader.read(kEmbedding, {decoder.vocab_size, decoder.hidden_size}));
  rotary_ = TRY(Rotary::create(reader, decoder.ropes.front(), max_positions));
  for (std::int64_t i = 0; i < decoder.num_layers; ++i) {
    layers_.push_back(TRY(load_layer(reader, i)));
  }
  final_norm_ = TRY(Norm::load(reader, "model.norm", decoder.hidden_size, decoder.norm));
  if (decoder.tied_embeddings) {
    TRY(reader.skip_copy("lm_head.weight", kEmbedding));
    lm_head_.weight = embedding_;
  } else {
    lm_head_ = TRY(Linear::load(reader, "lm_head", decoder.hidden_size, decoder.vocab_size, false));
  }
  return {};
}

Status MiniMax::combine(const Context& context, const StreamWeights& weights, const Tensor& normed,
                        const Tensor& found, Tensor& hidden) {
  TRY(ops::scale(context.stream, {.x = normed, .out = hidden, .scale = weights.kept}));
  return ops::add(context.stream, {.x = found, .out = hidden, .scale = weights.added});
}

Status MiniMax::forward(const Context& context, const Tensor& ids, Tensor& hidden) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  Tensor normed = TRY(workspace.tensor(DType::kF32, {hidden.dim(0), hidden.dim(1)}));
  Tensor found = TRY(workspace.tensor(DType::kF32, {hidden.dim(0), hidden.dim(1)}));
  TRY(ops::embedding(context.stream, {.table = embedding_, .ids = ids, .out = hidden}));
  for (const MiniMaxLayer& layer : layers_) {
    TRY(layer.before_mixer.forward(context, hidden, normed));
    TRY(layer.lightning ? layer.lightning->forward(context, normed, found)
                        : layer.attention->forward(context, rotary_, normed, found));
    TRY(combine(context, layer.lightning ? config_.linear : config_.softmax, normed, found,
                hidden));
    TRY(layer.before_experts.forward(context, hidden, normed));
    TRY(layer.experts.forward(context, ids, normed, found));
    TRY(combine(context, config_.mlp, normed, found, hidden));
  }
  return {};
}

Result<StreamWeights> read_weights(const ConfigReader& reader, const std::string& kind) {
  StreamWeights weights;
  const std::string kept = kind + "_alpha_factor";
  const std::string added = kind + "_beta_factor";
  if (reader.find(kept) != nullptr) {
    weights.kept = static_cast<float>(TRY(reader.positive(kept)));
  }
  if (reader.find(added) != nullptr) {
    weights.added = static_cast<float>(TRY(reader.positive(added)));
  }
  return weights;
}

}  // namespace

Result<std::unique_ptr<Model>> create_minimax(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  MiniMaxConfig config;
  DecoderConfig& decoder = config.decoder;
  decoder = TRY(read_decoder_config(reader, {.partial_rotation = true}));
  decoder.moe = TRY(read_moe_config(reader, decoder, {.width = "intermediate_size"}));
  decoder.moe->router.rule = {.score = RouterScore::kSoftmax, .renormalize = true};
  use_mixtral_names(*decoder.moe);
  TRY(read_recurrent_layers(reader, decoder));
  config.lightning = {.num_layers = decoder.num_layers,
                      .hidden_size = decoder.hidden_size,
                      .heads = decoder.num_heads,
                      .head_dim = decoder.head_dim,
                      .activation = decoder.activation};
  config.softmax = TRY(read_weights(reader, "full_attn"));
  config.linear = TRY(read_weights(reader, "linear_attn"));
  config.mlp = TRY(read_weights(reader, "mlp"));
  return std::unique_ptr<Model>(std::make_unique<MiniMax>(std::move(config)));
}

}  // namespace godwit
