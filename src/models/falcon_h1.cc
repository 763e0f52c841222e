// Falcon-H1: in each layer attention and Mamba-2 read the same rows and are added, with a factor at
// every place.

#include <array>
#include <cmath>
#include <string>

#include "models/recurrent_fields.h"
#include "ops/dense.h"

namespace godwit {
namespace {

struct FalconH1Config {
  DecoderConfig decoder;
  Mamba2Config mamba;
  float attention_in = 1.0F;
  float attention_out = 1.0F;
  float mamba_in = 1.0F;
  float mamba_out = 1.0F;
  float gate_scale = 1.0F;  ///< Of the feed-forward block's gate, before its activation.
  float down_scale = 1.0F;
};

struct FalconH1Layer {
  Norm before_mixers;
  Attention attention;
  Recurrent mamba;
  Norm before_mlp;
  Linear gate_proj;
  Linear up_proj;
  Linear down_proj;
};

class FalconH1 final : public Model {
 public:
  explicit FalconH1(FalconH1Config config) : config_(std::move(config)) {
    const DecoderConfig& decoder = config_.decoder;
    // A layer of attention and one of Mamba are two of the cache.
    geometry_ = {.num_layers = 2 * decoder.num_layers,
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
  Status logits(const Context& context, Tensor& hidden, Tensor& out) const override;

 private:
  [[nodiscard]] AttentionConfig attention_config(std::int64_t index) const;
  Result<FalconH1Layer> load_layer(WeightsReader& reader, std::int64_t index) const;
  /// Adds both mixers to `hidden`; the next one the feed-forward block. `normed` is scratch.
  Status add_mixers(const Context& context, const FalconH1Layer& layer, Tensor& normed,
                    Tensor& hidden) const;
  Status add_mlp(const Context& context, const FalconH1Layer& layer, Tensor& normed,
                 Tensor& hidden) const;

  FalconH1Config config_;
  ModelGeometry geometry_;
  Tensor embedding_;  // [vocab_size, hidden_size]
  Rotary rotary_;
  std::vector<FalconH1Layer> layers_;
  Norm final_norm_;
  Linear lm_head_;
};

AttentionConfig FalconH1::attention_config(std::int64_t index) const {
  const DecoderConfig& decoder = config_.decoder;
  return {.layer = 2 * index,
          .hidden_size = decoder.hidden_size,
          .num_heads = decoder.num_heads,
          .num_kv_heads = decoder.num_kv_heads,
          .head_dim = decoder.head_dim,
          .scale = decoder.attention_scale,
          .qkv_bias = decoder.qkv_bias,
          .o_bias = decoder.o_bias};
}

std::vector<LayerCacheSpec> FalconH1::cache_specs() const {
  std::vector<LayerCacheSpec> specs;
  for (std::int64_t i = 0; i < config_.decoder.num_layers; ++i) {
    const AttentionConfig attention = attention_config(i);
    specs.push_back({.layer = attention.layer,
                     .num_kv_heads = attention.num_kv_heads,
                     .key_dim = attention.head_dim,
                     .value_dim = attention.head_dim});
    specs.push_back(cache_spec_of(at_layer(config_.mamba, 2 * i + 1)));
  }
  return specs;
}

Result<FalconH1Layer> FalconH1::load_layer(WeightsReader& reader, std::int64_t index) const {
  const DecoderConfig& decoder = config_.decoder;
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  const auto linear = [&](const char* name, std::int64_t in, std::int64_t out) {
    return Linear::load(reader, prefix + "feed_forward." + name, in, out, decoder.mlp_bias);
  };
  FalconH1Layer layer;
  layer.before_mixers =
      TRY(Norm::load(reader, prefix + "input_layernorm", decoder.hidden_size, decoder.norm));
  layer.attention = TRY(Attention::load(reader, prefix + "self_attn", attention_config(index)));
  layer.mamba =
      TRY(Recurrent::load(reader, prefix + "mamba", at_layer(config_.mamba, 2 * index + 1)));
  layer.before_mlp =
      TRY(Norm::load(reader, prefix + "pre_ff_layernorm", decoder.hidden_size, decoder.norm));
  layer.gate_proj = TRY(linear("gate_proj", decoder.hidden_size, decoder.intermediate_size));
  layer.up_proj = TRY(linear("up_proj", decoder.hidden_size, decoder.intermediate_size));
  layer.down_proj = TRY(linear("down_proj", decoder.intermediate_size, decoder.hidden_size));
  return layer;
}

Status FalconH1::load(WeightsReader& reader, std::int64_t max_positions) {
  const DecoderConfig& decoder = config_.decoder;
  constexpr const char* kEmbedding = "model.embed_tokens.weight";
  embedding_ = TRY(reader.read(kEmbedding, {decoder.vocab_size, decoder.hidden_size}));
  rotary_ = TRY(Rotary::create(reader, decoder.ropes.front(), max_positions));
  for (std::int64_t i = 0; i < decoder.num_layers; ++i) {
    layers_.push_back(TRY(load_layer(reader, i)));
  }
  final_norm_ = TRY(Norm::load(reader, "model.final_layernorm", decoder.hidden_size, decoder.norm));
  if (decoder.tied_embeddings) {
    TRY(reader.skip_copy("lm_head.weight", kEmbedding));
    lm_head_.weight = embedding_;
  } else {
    lm_head_ = TRY(Linear::load(reader, "lm_head", decoder.hidden_size, decoder.vocab_size, false));
  }
  return {};
}

Status FalconH1::add_mixers(const Context& context, const FalconH1Layer& layer, Tensor& normed,
                            Tensor& hidden) const {
  Stream& stream = context.stream;
  const Workspace::Scope scope(stream.workspace());
  Tensor input = TRY(stream.workspace().tensor(DType::kF32, {hidden.dim(0), hidden.dim(1)}));
  Tensor found = TRY(stream.workspace().tensor(DType::kF32, {hidden.dim(0), hidden.dim(1)}));
  TRY(layer.before_mixers.forward(context, hidden, normed));
  TRY(ops::scale(stream, {.x = normed, .out = input, .scale = config_.mamba_in}));
  TRY(layer.mamba.forward(context, input, found));
  TRY(ops::add(stream, {.x = found, .out = hidden, .scale = config_.mamba_out}));
  TRY(ops::scale(stream, {.x = normed, .out = input, .scale = config_.attention_in}));
  TRY(layer.attention.forward(context, rotary_, input, found));
  return ops::add(stream, {.x = found, .out = hidden, .scale = config_.attention_out});
}

Status FalconH1::add_mlp(const Context& context, const FalconH1Layer& layer, Tensor& normed,
                         Tensor& hidden) const {
  Stream& stream = context.stream;
  const Workspace::Scope scope(stream.workspace());
  const std::int64_t width = config_.decoder.intermediate_size;
  Tensor gate = TRY(stream.workspace().tensor(DType::kF32, {hidden.dim(0), width}));
  Tensor up = TRY(stream.workspace().tensor(DType::kF32, {hidden.dim(0), width}));
  TRY(layer.before_mlp.forward(context, hidden, normed));
  TRY(layer.gate_proj.forward(context, normed, gate));
  TRY(ops::scale(stream, {.x = gate, .out = gate, .scale = config_.gate_scale}));
  TRY(layer.up_proj.forward(context, normed, up));
  TRY(ops::gated_activation(
      stream,
      {.gate = gate, .up = up, .out = gate, .form = {.activation = config_.decoder.activation}}));
  TRY(layer.down_proj.forward(context, gate, normed));
  return ops::add(stream, {.x = normed, .out = hidden, .scale = config_.down_scale});
}

Status FalconH1::forward(const Context& context, const Tensor& ids, Tensor& hidden) const {
  Stream& stream = context.stream;
  const Workspace::Scope scope(stream.workspace());
  Tensor normed = TRY(stream.workspace().tensor(DType::kF32, {hidden.dim(0), hidden.dim(1)}));
  TRY(ops::embedding(stream, {.table = embedding_, .ids = ids, .out = hidden}));
  TRY(ops::scale(stream, {.x = hidden, .out = hidden, .scale = config_.decoder.embedding_scale}));
  for (const FalconH1Layer& layer : layers_) {
    TRY(add_mixers(context, layer, normed, hidden));
    TRY(add_mlp(context, layer, normed, hidden));
  }
  return {};
}

Status FalconH1::logits(const Context& context, Tensor& hidden, Tensor& out) const {
  TRY(final_norm_.forward(context, hidden, hidden));
  TRY(lm_head_.forward(context, hidden, out));
  return ops::scale(context.stream, {.x = out, .out = out, .scale = config_.decoder.logits_scale});
}

/// A factor, 1 where it is absent.
Result<float> read_factor(const ConfigReader& reader, const char* key) {
  return reader.find(key) == nullptr ? Result<float>(1.0F)
                                     : Result<float>(static_cast<float>(TRY(reader.positive(key))));
}

template <std::size_t kCount>
Result<std::array<float, kCount>> read_factors(const ConfigReader& reader, const char* key) {
  std::array<float, kCount> factors;
  factors.fill(1.0F);
  const Json* list = reader.find(key);
  const std::string expected = std::to_string(kCount) + " numbers > 0";
  if (list == nullptr) {
    return factors;
  }
  if (!list->is_array() || list->as_array().size() != kCount) {
    return reader.unexpected(key, expected);
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    const Json& entry = list->as_array()[i];
    if (!entry.is_number() || !(entry.as_double() > 0.0 && entry.as_double() < 1e6)) {
      return reader.unexpected(key, expected);
    }
    factors[i] = static_cast<float>(entry.as_double());
  }
  return factors;
}

Result<Mamba2Config> read_falcon_mamba(const ConfigReader& reader, const DecoderConfig& decoder) {
  Mamba2Config mamba =
      TRY(read_mamba2(reader, decoder.hidden_size, epsilon_of(decoder), {.expand = nullptr}));
  const auto width = TRY(reader.optional_integer("mamba_d_ssm"));
  if (width && *width != mamba.width()) {
    return reader.unexpected("mamba_d_ssm",
                             "mamba_n_heads times mamba_d_head, " + std::to_string(mamba.width()));
  }
  mamba.norm_each_group = true;
  mamba.gate = !TRY(reader.boolean("mamba_rms_norm", false))         ? OutputGate::kAlone
               : TRY(reader.boolean("mamba_norm_before_gate", true)) ? OutputGate::kAfterNorm
                                                                     : OutputGate::kBeforeNorm;
  mamba.multipliers = TRY(read_factors<5>(reader, "ssm_multipliers"));
  return mamba;
}

}  // namespace

Result<std::unique_ptr<Model>> create_falcon_h1(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  FalconH1Config config;
  DecoderConfig& decoder = config.decoder;
  decoder = TRY(read_decoder_config(reader));
  TRY(read_attention_bias(reader, decoder));
  decoder.mlp_bias = TRY(reader.boolean("mlp_bias", false));
  decoder.embedding_scale = TRY(read_factor(reader, "embedding_multiplier"));
  decoder.logits_scale = TRY(read_factor(reader, "lm_head_multiplier"));
  config.mamba = TRY(read_falcon_mamba(reader, decoder));
  config.attention_in = TRY(read_factor(reader, "attention_in_multiplier"));
  config.attention_out = TRY(read_factor(reader, "attention_out_multiplier"));
  config.mamba_in = TRY(read_factor(reader, "ssm_in_multiplier"));
  config.mamba_out = TRY(read_factor(reader, "ssm_out_multiplier"));
  // A factor of the keys is one of the scores.
  decoder.attention_scale =
      TRY(read_factor(reader, "key_multiplier")) / std::sqrt(static_cast<float>(decoder.head_dim));
  const std::array<float, 2> mlp = TRY(read_factors<2>(reader, "mlp_multipliers"));
  config.gate_scale = mlp[0];
  config.down_scale = mlp[1];
  return std::unique_ptr<Model>(std::make_unique<FalconH1>(std::move(config)));
}

}  // namespace godwit
