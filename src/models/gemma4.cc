// Gemma 4, text: layers with a window and layers that see everything have heads of different sizes;
// a feed-forward block, and in some models a mixture of experts beside it, each with norms of its
// own; in the small models an embedding for each layer.

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "models/gemma_parts.h"
#include "models/moe_fields.h"
#include "ops/dense.h"

namespace godwit {
namespace {

/// Experts beside the feed-forward block.
struct SideExperts {
  RmsNorm after_mlp;
  RmsNorm router_norm;  ///< Of what the router reads: the residual stream, and not its norm.
  RmsNorm before;
  MoeLayer moe;
  RmsNorm after;
};

struct Gemma4Layer {
  RmsNorm before_attention;
  GemmaAttention attention;
  RmsNorm after_attention;
  RmsNorm before_mlp;
  GatedMlp mlp;
  std::optional<SideExperts> experts;
  RmsNorm after_mlp;
  std::optional<PerLayerGate> per_layer;
  float scalar = 1.0F;  ///< Of the layer's output.
};

class Gemma4 final : public Model {
 public:
  explicit Gemma4(GemmaConfig config) : config_(std::move(config)), geometry_(config_.geometry()) {}

  [[nodiscard]] const ModelGeometry& geometry() const override { return geometry_; }
  [[nodiscard]] std::vector<LayerCacheSpec> cache_specs() const override {
    return config_.cache_specs();
  }
  Status load(WeightsReader& reader, std::int64_t max_positions) override;
  Status forward(const Context& context, const Tensor& ids, Tensor& hidden) const override;
  Status logits(const Context& context, Tensor& hidden, Tensor& out) const override {
    return ends_.logits(context, config_.decoder.logits_softcap, hidden, out);
  }

 private:
  Result<Gemma4Layer> load_layer(WeightsReader& reader, std::int64_t index) const;
  Result<SideExperts> load_experts(WeightsReader& reader, const std::string& prefix) const;
  /// out = mlp(norm(hidden)), + the experts' where there are such. `normed` is scratch.
  Status feed_forward(const Context& context, const Gemma4Layer& layer, const Tensor& ids,
                      const Tensor& hidden, Tensor& normed, Tensor& out) const;
  /// Adds to `out` what the experts make of `hidden`.
  Status add_experts(const Context& context, const SideExperts& experts, const Tensor& ids,
                     const Tensor& hidden, Tensor& normed, Tensor& out) const;

  GemmaConfig config_;
  ModelGeometry geometry_;
  GemmaEnds ends_;
  std::optional<PerLayerEmbedding> per_layer_;
  std::vector<Rotary> rotaries_;
  std::vector<Gemma4Layer> layers_;
};

/// One number, stored as a tensor [1] of any type: the only entry of a table of embeddings.
Result<float> read_scalar(WeightsReader& reader, const std::string& name) {
  const Tensor stored = TRY(reader.read(name, {1}, WeightKind::kVector));
  const Tensor ids = TRY(reader.allocate(DType::kI32, {1}));
  const Tensor wide = TRY(reader.allocate(DType::kF32, {1, 1}));
  TRY(ops::embedding(reader.stream(), {.table = stored.reshape({1, 1}), .ids = ids, .out = wide}));
  float scalar = 0.0F;
  TRY(reader.stream().copy_out(std::as_writable_bytes(std::span(&scalar, 1)), wide.data));
  TRY(reader.stream().synchronize());
  return scalar;
}

Result<SideExperts> Gemma4::load_experts(WeightsReader& reader, const std::string& prefix) const {
  const std::int64_t hidden = config_.decoder.hidden_size;
  const RmsNormConfig& norm = std::get<RmsNormConfig>(config_.decoder.norm);
  const auto load_norm = [&](const char* name) {
    return RmsNorm::load(reader, prefix + name, hidden, norm);
  };
  SideExperts experts;
  experts.after_mlp = TRY(load_norm("post_feedforward_layernorm_1"));
  // Its scales are stored under a name of their own.
  experts.router_norm.config = norm;
  experts.router_norm.weight =
      TRY(reader.read(prefix + "router.scale", {hidden}, WeightKind::kVector));
  experts.before = TRY(load_norm("pre_feedforward_layernorm_2"));
  experts.moe = TRY(MoeLayer::load(reader, prefix, *config_.decoder.moe));
  experts.after = TRY(load_norm("post_feedforward_layernorm_2"));
  return experts;
}

Result<Gemma4Layer> Gemma4::load_layer(WeightsReader& reader, std::int64_t index) const {
  const DecoderConfig& decoder = config_.decoder;
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  const auto load_norm = [&](const char* name) {
    return RmsNorm::load(reader, prefix + name, decoder.hidden_size,
                         std::get<RmsNormConfig>(decoder.norm));
  };
  Gemma4Layer layer;
  layer.before_attention = TRY(load_norm("input_layernorm"));
  layer.attention = TRY(GemmaAttention::load(reader, prefix + "self_attn", config_, index));
  layer.after_attention = TRY(load_norm("post_attention_layernorm"));
  layer.before_mlp = TRY(load_norm("pre_feedforward_layernorm"));
  layer.mlp = TRY(GatedMlp::load(reader, prefix + "mlp",
                                 {.hidden_size = decoder.hidden_size,
                                  .intermediate_size = config_.layer(index).intermediate_size,
                                  .form = {.activation = decoder.activation}}));
  layer.after_mlp = TRY(load_norm("post_feedforward_layernorm"));
  if (decoder.moe) {
    layer.experts = TRY(load_experts(reader, prefix));
  }
  if (config_.per_layer_width > 0) {
    layer.per_layer = TRY(PerLayerGate::load(reader, prefix, config_));
  }
  layer.scalar = TRY(read_scalar(reader, prefix + "layer_scalar"));
  return layer;
}

Status Gemma4::load(WeightsReader& reader, std::int64_t max_positions) {
  ends_ = TRY(GemmaEnds::load(reader, config_.decoder));
  if (config_.per_layer_width > 0) {
    per_layer_ = TRY(PerLayerEmbedding::load(reader, config_));
  }
  for (std::int64_t i = 0; i < config_.num_layers(); ++i) {
    layers_.push_back(TRY(load_layer(reader, i)));
  }
  for (const RopeConfig& rope : config_.decoder.ropes) {
    rotaries_.push_back(TRY(Rotary::create(reader, rope, max_positions)));
  }
  return {};
}

Status Gemma4::add_experts(const Context& context, const SideExperts& experts, const Tensor& ids,
                           const Tensor& hidden, Tensor& normed, Tensor& out) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  Tensor router_x = TRY(workspace.tensor(DType::kF32, {hidden.dim(0), hidden.dim(1)}));
  Tensor found = TRY(workspace.tensor(DType::kF32, {hidden.dim(0), hidden.dim(1)}));
  const float scale = 1.0F / std::sqrt(static_cast<float>(hidden.dim(1)));
  TRY(experts.router_norm.forward(context, hidden, router_x));
  TRY(ops::scale(context.stream, {.x = router_x, .out = router_x, .scale = scale}));
  TRY(experts.before.forward(context, hidden, normed));
  TRY(experts.moe.forward(context, ids, router_x, normed, found));
  TRY(experts.after.forward(context, found, found));
  return ops::add(context.stream, {.x = found, .out = out});
}

Status Gemma4::feed_forward(const Context& context, const Gemma4Layer& layer, const Tensor& ids,
                            const Tensor& hidden, Tensor& normed, Tensor& out) const {
  TRY(layer.before_mlp.forward(context, hidden, normed));
  TRY(layer.mlp.forward(context, normed, out));
  if (layer.experts) {
    TRY(layer.experts->after_mlp.forward(context, out, out));
    TRY(add_experts(context, *layer.experts, ids, hidden, normed, out));
  }
  return layer.after_mlp.forward(context, out, out);
}

Status Gemma4::forward(const Context& context, const Tensor& ids, Tensor& hidden) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  Tensor normed = TRY(workspace.tensor(DType::kF32, {hidden.dim(0), hidden.dim(1)}));
  Tensor branch = TRY(workspace.tensor(DType::kF32, {hidden.dim(0), hidden.dim(1)}));
  TRY(ends_.embed(context, ids, hidden));
  const Tensor embeddings = per_layer_ ? TRY(per_layer_->forward(context, ids, hidden)) : Tensor();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Gemma4Layer& layer = layers_[i];
    const Rotary& rotary = rotaries_[*config_.decoder.layers[i].rope];
    TRY(layer.before_attention.forward(context, hidden, normed));
    TRY(layer.attention.forward(context, rotary, normed, branch));
    TRY(layer.after_attention.forward(context, branch, branch));
    TRY(ops::add(context.stream, {.x = branch, .out = hidden}));
    TRY(feed_forward(context, layer, ids, hidden, normed, branch));
    TRY(ops::add(context.stream, {.x = branch, .out = hidden}));
    if (layer.per_layer) {
      const Tensor embedding = per_layer_->of_layer(embeddings, static_cast<std::int64_t>(i));
      TRY(layer.per_layer->forward(context, hidden, embedding, branch));
      TRY(ops::add(context.stream, {.x = branch, .out = hidden}));
    }
    if (layer.scalar != 1.0F) {
      TRY(ops::scale(context.stream, {.x = hidden, .out = hidden, .scale = layer.scalar}));
    }
  }
  return {};
}

/// What layers that see everything have of their own, in the form of older files: for all of them.
Status read_global_sizes(const ConfigReader& reader, GemmaConfig& config) {
  const auto head_dim = TRY(reader.optional_integer("global_head_dim", 2, 65536));
  const auto kv_heads = TRY(reader.optional_integer("num_global_key_value_heads", 1, 65536));
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    GemmaLayerConfig& layer = config.layers[i];
    if (config.decoder.layers[i].window == 0) {
      layer.head_dim = head_dim.value_or(layer.head_dim);
      layer.num_kv_heads =
          layer.values_are_keys ? kv_heads.value_or(layer.num_kv_heads) : layer.num_kv_heads;
    }
  }
  return {};
}

/// The same in the form of newer files: per_layer_config, an object of objects by layer number.
Status read_per_layer_config(const ConfigReader& reader, GemmaConfig& config) {
  constexpr const char* kKey = "per_layer_config";
  const Json* given = reader.find(kKey);
  if (given == nullptr) {
    return {};
  }
  const auto wrong = [&](const std::string& name) {
    return invalid_argument(reader.name() + ": " + kKey + " names \"" + name +
                                "\", expected the number of a layer, below " +
                                std::to_string(config.num_layers()),
                            "check the config");
  };
  if (!given->is_object()) {
    return reader.unexpected(kKey, "an object with a member for each layer that differs");
  }
  for (const auto& [name, fields] : given->as_object()) {
    std::int64_t index = -1;
    std::from_chars(name.data(), name.data() + name.size(), index);
    if (index < 0 || index >= config.num_layers() || std::to_string(index) != name) {
      return wrong(name);
    }
    const ConfigReader layer_reader(fields, reader.name() + ": " + kKey + "." + name);
    if (!fields.is_object()) {
      return reader.unexpected(kKey, "an object for each layer that differs");
    }
    GemmaLayerConfig& layer = config.layers[static_cast<std::size_t>(index)];
    for (const auto& [key, value] : fields.as_object()) {
      if (key == "head_dim") {
        layer.head_dim = TRY(layer_reader.integer(key, 2, 65536));
      } else if (key == "num_key_value_heads") {
        layer.num_kv_heads = TRY(layer_reader.integer(key, 1, 65536));
      } else {
        return unimplemented(layer_reader.name() + " has the member " + key,
                             "godwit has layers with a head_dim and num_key_value_heads of their "
                             "own");
      }
    }
  }
  return {};
}

/// Layers of a kind have one rope, and so one head size; query heads share those of keys.
Status check_layer_sizes(const ConfigReader& reader, const GemmaConfig& config) {
  std::array<std::int64_t, 2> head_dims{};
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const GemmaLayerConfig& layer = config.layers[i];
    std::int64_t& common = head_dims[config.decoder.layers[i].window == 0 ? 0 : 1];
    common = common == 0 ? layer.head_dim : common;
    const std::string here = reader.name() + ": layer " + std::to_string(i) + " has ";
    if (layer.head_dim != common || layer.head_dim % 2 != 0) {
      return invalid_argument(
          here + "head_dim " + std::to_string(layer.head_dim) +
              ", expected an even number and that of the other layers of its kind, " +
              std::to_string(common),
          "check head_dim, global_head_dim and per_layer_config");
    }
    if (config.decoder.num_heads % layer.num_kv_heads != 0) {
      return invalid_argument(here + "num_key_value_heads " + std::to_string(layer.num_kv_heads) +
                                  ", expected a divisor of num_attention_heads " +
                                  std::to_string(config.decoder.num_heads),
                              "check num_global_key_value_heads and per_layer_config");
    }
  }
  return {};
}

/// The last layers may be twice as wide, where they share keys.
Status read_wide_layers(const ConfigReader& reader, GemmaConfig& config) {
  if (!TRY(reader.boolean("use_double_wide_mlp", false))) {
    return {};
  }
  for (std::int64_t i = 0; i < config.num_layers(); ++i) {
    GemmaLayerConfig& layer = config.layers[static_cast<std::size_t>(i)];
    if (layer.kv_source != i) {
      layer.intermediate_size *= 2;
    }
  }
  return {};
}

Status read_ropes(const ConfigReader& reader, GemmaConfig& config) {
  for (const bool slides : {false, true}) {
    std::int64_t head_dim = config.decoder.head_dim;
    for (std::size_t i = 0; i < config.layers.size(); ++i) {
      if ((config.decoder.layers[i].window > 0) == slides) {
        head_dim = config.layers[i].head_dim;
      }
    }
    config.decoder.ropes.push_back(TRY(
        read_rope_config(reader, {.head_dim = head_dim,
                                  .partial = false,
                                  .layer_type = slides ? "sliding_attention" : "full_attention"})));
  }
  return {};
}

Status read_experts(const ConfigReader& reader, GemmaConfig& config) {
  if (!TRY(reader.boolean("enable_moe_block", false))) {
    return {};
  }
  MoeConfig moe = TRY(read_moe_config(reader, config.decoder, {.top_k = "top_k_experts"}));
  moe.router.rule.renormalize = true;
  moe.router.gate = "router.proj";
  moe.router.factors = "router.per_expert_scale";
  moe.experts.storage = ExpertStorage::kRows;
  moe.experts.gate = "experts.gate_up_proj";
  moe.experts.down = "experts.down_proj";
  config.decoder.moe = moe;
  return {};
}

}  // namespace

Result<std::unique_ptr<Model>> create_gemma4(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  GemmaConfig config = TRY(read_gemma_config(reader, 6));
  const bool values_are_keys = TRY(reader.boolean("attention_k_eq_v", false));
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    config.layers[i].values_are_keys = values_are_keys && config.decoder.layers[i].window == 0;
  }
  TRY(read_global_sizes(reader, config));
  TRY(read_per_layer_config(reader, config));
  TRY(check_layer_sizes(reader, config));
  TRY(read_kv_sharing(reader, config));
  TRY(read_wide_layers(reader, config));
  TRY(read_ropes(reader, config));
  TRY(read_experts(reader, config));
  return std::unique_ptr<Model>(std::make_unique<Gemma4>(std::move(config)));
}

}  // namespace godwit
