// LFM2: gated short convolutions, and every few layers attention; in the larger ones most
// feed-forward blocks are mixtures of experts.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layers/short_conv.h"
#include "models/moe_fields.h"
#include "ops/dense.h"

namespace godwit {
namespace {

struct Lfm2Config {
  DecoderConfig decoder;
  std::int64_t taps = 0;
  bool conv_bias = false;
  std::vector<bool> has_attention;  ///< One a layer; the others have a convolution.
};

struct Lfm2Layer {
  Norm before_operator;
  std::optional<Attention> attention;  ///< Or:
  std::optional<ShortConv> conv;
  Norm before_mlp;
  std::optional<GatedMlp> mlp;  ///< Or:
  std::optional<MoeLayer> moe;
};

class Lfm2 final : public Model {
 public:
  explicit Lfm2(Lfm2Config config) : config_(std::move(config)) {
    const DecoderConfig& decoder = config_.decoder;
    geometry_ = {.num_layers = decoder.num_layers,
                 .vocab_size = decoder.vocab_size,
                 .hidden_size = decoder.hidden_size,
                 .num_heads = decoder.num_heads,
                 .intermediate_size = decoder.intermediate_size,
                 .max_positions = decoder.max_positions};
  }

  [[nodiscard]] const ModelGeometry& geometry() const override { return geometry_; }

  [[nodiscard]] std::vector<LayerCacheSpec> cache_specs() const override {
    std::vector<LayerCacheSpec> specs;
    for (std::int64_t i = 0; i < geometry_.num_layers; ++i) {
      if (has_attention(i)) {
        specs.push_back({.layer = i,
                         .num_kv_heads = config_.decoder.num_kv_heads,
                         .key_dim = config_.decoder.head_dim,
                         .value_dim = config_.decoder.head_dim});
      } else {
        specs.push_back(cache_spec_of(conv_config(i)));
      }
    }
    return specs;
  }

  Status load(WeightsReader& reader, std::int64_t max_positions) override {
    const DecoderConfig& decoder = config_.decoder;
    embedding_ =
        TRY(reader.read("model.embed_tokens.weight", {decoder.vocab_size, decoder.hidden_size}));
    rotary_ = TRY(Rotary::create(reader, decoder.ropes.front(), max_positions));
    for (std::int64_t i = 0; i < geometry_.num_layers; ++i) {
      layers_.push_back(TRY(load_layer(reader, i)));
    }
    final_norm_ =
        TRY(Norm::load(reader, "model.embedding_norm", decoder.hidden_size, decoder.norm));
    if (decoder.tied_embeddings) {
      TRY(reader.skip_copy("lm_head.weight", "model.embed_tokens.weight"));
      lm_head_.weight = embedding_;
    } else {
      lm_head_ =
          TRY(Linear::load(reader, "lm_head", decoder.hidden_size, decoder.vocab_size, false));
    }
    return {};
  }

  Status forward(const Context& context, const Tensor& ids, Tensor& hidden) const override {
    Workspace& workspace = context.stream.workspace();
    Workspace::Scope scope(workspace);
    Tensor normed = TRY(workspace.tensor(DType::kF32, {hidden.dim(0), hidden.dim(1)}));
    TRY(ops::embedding(context.stream, {.table = embedding_, .ids = ids, .out = hidden}));
    for (const Lfm2Layer& layer : layers_) {
      TRY(layer.before_operator.forward(context, hidden, normed));
      TRY(layer.conv ? layer.conv->forward_add(context, normed, hidden)
                     : layer.attention->forward_add(context, rotary_, normed, hidden));
      TRY(layer.before_mlp.forward(context, hidden, normed));
      TRY(layer.moe ? layer.moe->forward_add(context, ids, normed, hidden)
                    : layer.mlp->forward_add(context, normed, hidden));
    }
    return {};
  }

  Status logits(const Context& context, Tensor& hidden, Tensor& out) const override {
    TRY(final_norm_.forward(context, hidden, hidden));
    return lm_head_.forward(context, hidden, out);
  }

 private:
  [[nodiscard]] bool has_attention(std::int64_t layer) const {
    return config_.has_attention[static_cast<std::size_t>(layer)];
  }
  [[nodiscard]] ShortConvConfig conv_config(std::int64_t layer) const {
    return {.layer = layer,
            .hidden_size = config_.decoder.hidden_size,
            .taps = config_.taps,
            .has_bias = config_.conv_bias};
  }

  Result<Lfm2Layer> load_layer(WeightsReader& reader, std::int64_t index) const {
    const DecoderConfig& decoder = config_.decoder;
    const std::string prefix = "model.layers." + std::to_string(index) + ".";
    const auto norm = [&](const char* name) {
      return Norm::load(reader, prefix + name, decoder.hidden_size, decoder.norm);
    };
    Lfm2Layer layer;
    layer.before_operator = TRY(norm("operator_norm"));
    if (has_attention(index)) {
      layer.attention = TRY(Attention::load(reader, prefix + "self_attn",
                                            {.layer = index,
                                             .hidden_size = decoder.hidden_size,
                                             .num_heads = decoder.num_heads,
                                             .num_kv_heads = decoder.num_kv_heads,
                                             .head_dim = decoder.head_dim,
                                             .qk_norm = decoder.qk_norm,
                                             .out = "out_proj"}));
    } else {
      layer.conv = TRY(ShortConv::load(reader, prefix + "conv", conv_config(index)));
    }
    layer.before_mlp = TRY(norm("ffn_norm"));
    if (decoder.layers[static_cast<std::size_t>(index)].sparse) {
      layer.moe = TRY(MoeLayer::load(reader, prefix, *decoder.moe));
    } else {
      layer.mlp = TRY(GatedMlp::load(reader, prefix + "feed_forward",
                                     {.hidden_size = decoder.hidden_size,
                                      .intermediate_size = decoder.intermediate_size,
                                      .gate = "w1",
                                      .up = "w3",
                                      .down = "w2"}));
    }
    return layer;
  }

  Lfm2Config config_;
  ModelGeometry geometry_;
  Tensor embedding_;  // [vocab_size, hidden_size]
  Rotary rotary_;
  std::vector<Lfm2Layer> layers_;
  Norm final_norm_;
  Linear lm_head_;
};

/// Which layers have attention: by `layer_types`, or `full_attn_idxs` in older files.
Result<std::vector<bool>> read_attention_layers(const ConfigReader& reader,
                                                std::int64_t num_layers) {
  std::vector<bool> attends(static_cast<std::size_t>(num_layers));
  if (const auto types = TRY(reader.optional_strings("layer_types"))) {
    if (types->size() != attends.size()) {
      return reader.unexpected("layer_types",
                               std::to_string(num_layers) + " names, as num_hidden_layers says");
    }
    for (std::size_t i = 0; i < attends.size(); ++i) {
      if ((*types)[i] != "conv" && (*types)[i] != "full_attention") {
        return reader.unexpected("layer_types", "names that are conv or full_attention");
      }
      attends[i] = (*types)[i] == "full_attention";
    }
    return attends;
  }
  constexpr const char* kIndices = "full_attn_idxs";
  const Json* indices = reader.find(kIndices);
  if (indices == nullptr) {
    return reader.unexpected("layer_types", "the kind of each layer (or full_attn_idxs)");
  }
  const std::string expected =
      "a list of layers' numbers, of which there are " + std::to_string(num_layers);
  if (!indices->is_array()) {
    return reader.unexpected(kIndices, expected);
  }
  for (const Json& entry : indices->as_array()) {
    const auto index = entry.to_int64();
    if (!index || *index < 0 || *index >= num_layers) {
      return reader.unexpected(kIndices, expected);
    }
    attends[static_cast<std::size_t>(*index)] = true;
  }
  return attends;
}

/// The width that a dense block really has: two thirds of the stated one, scaled and rounded up,
/// where the config says so.
Status adjust_width(const ConfigReader& reader, DecoderConfig& decoder) {
  if (!TRY(reader.boolean("block_auto_adjust_ff_dim", false))) {
    return {};
  }
  constexpr const char* kFactor = "block_ffn_dim_multiplier";
  const double factor = reader.find(kFactor) != nullptr ? TRY(reader.positive(kFactor)) : 1.0;
  const double scaled = factor * static_cast<double>(2 * decoder.intermediate_size / 3);
  const std::int64_t multiple = TRY(reader.optional_integer("block_multiple_of")).value_or(256);
  if (!(scaled >= 1.0 && scaled <= static_cast<double>(ConfigReader::kLargest))) {
    return reader.unexpected(kFactor, "a factor that leaves a width");
  }
  decoder.intermediate_size =
      (static_cast<std::int64_t>(scaled) + multiple - 1) / multiple * multiple;
  return {};
}

Result<Lfm2Config> read_lfm2(const ConfigReader& reader) {
  Lfm2Config config;
  config.decoder = TRY(read_decoder_config(
      reader, {.activation = nullptr, .epsilon = "norm_eps", .tied_when_absent = true}));
  config.decoder.qk_norm = QkNormConfig{
      .norm = std::get<RmsNormConfig>(config.decoder.norm), .q = "q_layernorm", .k = "k_layernorm"};
  config.taps = TRY(reader.integer("conv_L_cache", 2, 64));
  config.conv_bias = TRY(reader.boolean("conv_bias", false));
  config.has_attention = TRY(read_attention_layers(reader, config.decoder.num_layers));
  return config;
}

}  // namespace

Result<std::unique_ptr<Model>> create_lfm2(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  Lfm2Config config = TRY(read_lfm2(reader));
  TRY(adjust_width(reader, config.decoder));
  return std::unique_ptr<Model>(std::make_unique<Lfm2>(std::move(config)));
}

Result<std::unique_ptr<Model>> create_lfm2_moe(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  Lfm2Config config = TRY(read_lfm2(reader));
  DecoderConfig& decoder = config.decoder;
  MoeConfig moe = TRY(read_moe_config(reader, decoder));
  moe.router.rule = {.score = RouterScore::kSigmoid,
                     .renormalize = TRY(reader.boolean("norm_topk_prob", true)),
                     .sum_epsilon = 1e-6F};
  if (reader.find("routed_scaling_factor") != nullptr) {
    moe.router.rule.scale = static_cast<float>(TRY(reader.positive("routed_scaling_factor")));
  }
  moe.router.gate = "feed_forward.gate";
  if (TRY(reader.boolean("use_expert_bias", true))) {
    moe.router.correction = "feed_forward.expert_bias";
  }
  moe.experts.gate = "feed_forward.experts.#.w1.weight";
  moe.experts.up = "feed_forward.experts.#.w3.weight";
  moe.experts.down = "feed_forward.experts.#.w2.weight";
  decoder.moe = std::move(moe);
  const std::int64_t num_dense =
      TRY(reader.optional_integer("num_dense_layers", 0, decoder.num_layers)).value_or(0);
  for (std::int64_t i = num_dense; i < decoder.num_layers; ++i) {
    decoder.layers[static_cast<std::size_t>(i)].sparse = true;
  }
  return std::unique_ptr<Model>(std::make_unique<Lfm2>(std::move(config)));
}

}  // namespace godwit
