// Zamba2: Mamba-2 in every layer; before some of them a block of attention and feed-forward, of
// which there are but a few that take turns, each use with adapters of its own.

#include <cmath>
#include <optional>
#include <string>

#include "layers/low_rank.h"
#include "models/recurrent_fields.h"
#include "ops/dense.h"

namespace godwit {
namespace {

struct Zamba2Config {
  DecoderConfig decoder;
  Mamba2Config mamba;
  std::vector<bool> hybrid;  ///< Which layers have a block before their Mamba.
  std::int64_t num_blocks = 1;
  std::int64_t adapter_rank = 0;
  bool attention_adapters = false;
};

/// One use of a block. Its matrices are shared with other uses.
struct SharedBlock {
  Norm before_attention;  ///< Of the residual stream and the embeddings side by side.
  Attention attention;
  Norm before_mlp;
  Linear gate_up_proj;
  Linear down_proj;
  LowRank mlp_adapter;
  Linear linear;  ///< Of what it adds to Mamba's input.
};

struct Zamba2Layer {
  std::optional<SharedBlock> block;
  Norm before_mamba;
  Recurrent mamba;
};

class Zamba2 final : public Model {
 public:
  explicit Zamba2(Zamba2Config config) : config_(std::move(config)) {
    const DecoderConfig& decoder = config_.decoder;
    std::int64_t hybrids = 0;
    for (const bool hybrid : config_.hybrid) {
      hybrids += hybrid ? 1 : 0;
    }
    // In the cache, attention comes after all of Mamba.
    geometry_ = {.num_layers = decoder.num_layers + hybrids,
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
  [[nodiscard]] AttentionConfig attention_config(std::int64_t use) const;
  /// Reads the block that use number `use` shares, from the layer `owner` that stores it.
  Result<SharedBlock> load_block(WeightsReader& reader, std::int64_t owner, std::int64_t use) const;
  /// Reads what a use has of its own.
  Status load_adapters(WeightsReader& reader, std::int64_t owner, std::int64_t use,
                       SharedBlock& block) const;
  Status load_layers(WeightsReader& reader);
  /// out = hidden + what the block makes of hidden and the embeddings.
  Status add_block(const Context& context, const SharedBlock& block, const Tensor& embeddings,
                   const Tensor& hidden, Tensor& out) const;

  Zamba2Config config_;
  ModelGeometry geometry_;
  Tensor embedding_;  // [vocab_size, hidden_size]
  Rotary rotary_;     // Empty where there are no positions.
  std::vector<Zamba2Layer> layers_;
  Norm final_norm_;
  Linear lm_head_;
};

AttentionConfig Zamba2::attention_config(std::int64_t use) const {
  const DecoderConfig& decoder = config_.decoder;
  return {.layer = decoder.num_layers + use,
          .hidden_size = 2 * decoder.hidden_size,
          .num_heads = decoder.num_heads,
          .num_kv_heads = decoder.num_kv_heads,
          .head_dim = decoder.head_dim,
          .scale = decoder.attention_scale,
          .out_size = decoder.hidden_size};
}

std::vector<LayerCacheSpec> Zamba2::cache_specs() const {
  std::vector<LayerCacheSpec> specs;
  for (std::int64_t i = 0; i < config_.decoder.num_layers; ++i) {
    specs.push_back(cache_spec_of(at_layer(config_.mamba, i)));
  }
  for (std::int64_t use = 0; use < geometry_.num_layers - config_.decoder.num_layers; ++use) {
    const AttentionConfig attention = attention_config(use);
    specs.push_back({.layer = attention.layer,
                     .num_kv_heads = attention.num_kv_heads,
                     .key_dim = attention.head_dim,
                     .value_dim = attention.head_dim});
  }
  return specs;
}

std::string block_prefix(std::int64_t owner) {
  return "model.layers." + std::to_string(owner) + ".shared_transformer.";
}

Result<SharedBlock> Zamba2::load_block(WeightsReader& reader, std::int64_t owner,
                                       std::int64_t use) const {
  const DecoderConfig& decoder = config_.decoder;
  const std::int64_t hidden = decoder.hidden_size;
  const std::int64_t width = decoder.intermediate_size;
  const std::string prefix = block_prefix(owner);
  SharedBlock block;
  block.before_attention =
      TRY(Norm::load(reader, prefix + "input_layernorm", 2 * hidden, decoder.norm));
  block.attention = TRY(Attention::load(reader, prefix + "self_attn", attention_config(use)));
  block.before_mlp = TRY(Norm::load(reader, prefix + "pre_ff_layernorm", hidden, decoder.norm));
  block.gate_up_proj = TRY(Linear::load(reader, prefix + "feed_forward.gate_up_proj", hidden,
                                        2 * width, decoder.mlp_bias));
  block.down_proj =
      TRY(Linear::load(reader, prefix + "feed_forward.down_proj", width, hidden, decoder.mlp_bias));
  return block;
}

Status Zamba2::load_adapters(WeightsReader& reader, std::int64_t owner, std::int64_t use,
                             SharedBlock& block) const {
  const DecoderConfig& decoder = config_.decoder;
  const std::string number = "_adapter_list." + std::to_string(use);
  const std::string prefix = block_prefix(owner);
  block.attention.config = attention_config(use);
  block.mlp_adapter =
      TRY(LowRank::load(reader, prefix + "feed_forward.gate_up_proj" + number, decoder.hidden_size,
                        config_.adapter_rank, 2 * decoder.intermediate_size));
  if (!config_.attention_adapters) {
    return {};
  }
  const auto adapter = [&](const char* name, std::int64_t heads) {
    return LowRank::load(reader, prefix + "self_attn.linear_" + name + number,
                         2 * decoder.hidden_size, config_.adapter_rank, heads * decoder.head_dim);
  };
  block.attention.q_adapter = TRY(adapter("q", decoder.num_heads));
  block.attention.k_adapter = TRY(adapter("k", decoder.num_kv_heads));
  block.attention.v_adapter = TRY(adapter("v", decoder.num_kv_heads));
  return {};
}

Status Zamba2::load_layers(WeightsReader& reader) {
  const DecoderConfig& decoder = config_.decoder;
  std::vector<std::int64_t> owners;  // Of the blocks, in turn.
  std::vector<SharedBlock> blocks;
  std::int64_t use = 0;
  for (std::int64_t i = 0; i < decoder.num_layers; ++i) {
    std::string prefix = "model.layers." + std::to_string(i) + ".";
    Zamba2Layer layer;
    if (config_.hybrid[static_cast<std::size_t>(i)]) {
      if (use < config_.num_blocks) {
        blocks.push_back(TRY(load_block(reader, i, use)));
        owners.push_back(i);
      }
      const auto turn = static_cast<std::size_t>(use % config_.num_blocks);
      layer.block = blocks[turn];
      TRY(load_adapters(reader, owners[turn], use, *layer.block));
      layer.block->linear = TRY(
          Linear::load(reader, prefix + "linear", decoder.hidden_size, decoder.hidden_size, false));
      prefix += "mamba_decoder.";
      ++use;
    }
    layer.before_mamba =
        TRY(Norm::load(reader, prefix + "input_layernorm", decoder.hidden_size, decoder.norm));
    layer.mamba = TRY(Recurrent::load(reader, prefix + "mamba", at_layer(config_.mamba, i)));
    layers_.push_back(std::move(layer));
  }
  return {};
}

Status Zamba2::load(WeightsReader& reader, std::int64_t max_positions) {
  const DecoderConfig& decoder = config_.decoder;
  constexpr const char* kEmbedding = "model.embed_tokens.weight";
  embedding_ = TRY(reader.read(kEmbedding, {decoder.vocab_size, decoder.hidden_size}));
  if (!decoder.ropes.empty()) {
    rotary_ = TRY(Rotary::create(reader, decoder.ropes.front(), max_positions));
  }
  TRY(load_layers(reader));
  final_norm_ = TRY(Norm::load(reader, "model.final_layernorm", decoder.hidden_size, decoder.norm));
  if (decoder.tied_embeddings) {
    TRY(reader.skip_copy("lm_head.weight", kEmbedding));
    lm_head_.weight = embedding_;
  } else {
    lm_head_ = TRY(Linear::load(reader, "lm_head", decoder.hidden_size, decoder.vocab_size, false));
  }
  return {};
}

Status Zamba2::add_block(const Context& context, const SharedBlock& block, const Tensor& embeddings,
                         const Tensor& hidden, Tensor& out) const {
  Stream& stream = context.stream;
  Workspace& workspace = stream.workspace();
  const Workspace::Scope scope(workspace);
  const std::int64_t tokens = hidden.dim(0);
  const std::int64_t width = hidden.dim(1);
  const std::int64_t inner = config_.decoder.intermediate_size;
  Tensor both = TRY(workspace.tensor(DType::kF32, {tokens, 2 * width}));
  TRY(ops::scale(stream, {.x = hidden, .out = both.slice(1, 0, width)}));
  TRY(ops::scale(stream, {.x = embeddings, .out = both.slice(1, width, width)}));
  TRY(block.before_attention.forward(context, both, both));
  Tensor found = TRY(workspace.tensor(DType::kF32, {tokens, width}));
  TRY(block.attention.forward(context, rotary_, both, found));
  TRY(block.before_mlp.forward(context, found, found));
  Tensor gate_up = TRY(workspace.tensor(DType::kF32, {tokens, 2 * inner}));
  TRY(block.gate_up_proj.forward(context, found, gate_up));
  TRY(block.mlp_adapter.add(context, found, gate_up));
  Tensor gate = gate_up.slice(1, 0, inner);
  TRY(ops::gated_activation(stream, {.gate = gate,
                                     .up = gate_up.slice(1, inner, inner),
                                     .out = gate,
                                     .form = {.activation = config_.decoder.activation}}));
  TRY(block.down_proj.forward(context, gate, found));
  TRY(ops::scale(stream, {.x = hidden, .out = out}));
  return block.linear.forward_add(context, found, out);
}

Status Zamba2::forward(const Context& context, const Tensor& ids, Tensor& hidden) const {
  Stream& stream = context.stream;
  const Workspace::Scope scope(stream.workspace());
  Tensor embeddings = TRY(stream.workspace().tensor(DType::kF32, {hidden.dim(0), hidden.dim(1)}));
  Tensor input = TRY(stream.workspace().tensor(DType::kF32, {hidden.dim(0), hidden.dim(1)}));
  TRY(ops::embedding(stream, {.table = embedding_, .ids = ids, .out = hidden}));
  TRY(ops::scale(stream, {.x = hidden, .out = embeddings}));
  for (const Zamba2Layer& layer : layers_) {
    if (layer.block) {
      TRY(add_block(context, *layer.block, embeddings, hidden, input));
      TRY(layer.before_mamba.forward(context, input, input));
    } else {
      TRY(layer.before_mamba.forward(context, hidden, input));
    }
    TRY(layer.mamba.forward_add(context, input, hidden));
  }
  return {};
}

/// Which layers have a block: `layers_block_type` and `hybrid_layer_ids`, which must agree.
Result<std::vector<bool>> read_hybrid_layers(const ConfigReader& reader, std::size_t count) {
  constexpr const char* kTypes = "layers_block_type";
  constexpr const char* kIds = "hybrid_layer_ids";
  const auto types = TRY(reader.optional_strings(kTypes));
  if (!types || types->size() != count) {
    return reader.unexpected(kTypes, std::to_string(count) + " names, as num_hidden_layers says");
  }
  std::vector<bool> hybrid;
  for (const std::string& type : *types) {
    if (type != "hybrid" && type != "linear_attention" && type != "mamba") {
      return reader.unexpected(kTypes, "names that are hybrid or mamba (linear_attention)");
    }
    hybrid.push_back(type == "hybrid");
  }
  if (const Json* ids = reader.find(kIds)) {
    std::vector<bool> listed(count, false);
    for (const Json& id : ids->is_array() ? ids->as_array() : JsonArray()) {
      const auto layer = id.to_int64();
      if (layer && *layer >= 0 && *layer < static_cast<std::int64_t>(count)) {
        listed[static_cast<std::size_t>(*layer)] = true;
      }
    }
    if (listed != hybrid) {
      return reader.unexpected(kIds, "the layers that layers_block_type calls hybrid");
    }
  }
  return hybrid;
}

}  // namespace

Result<std::unique_ptr<Model>> create_zamba2(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  Zamba2Config config;
  DecoderConfig& decoder = config.decoder;
  decoder = TRY(read_decoder_config(reader, {.tied_when_absent = true, .one_rope = false}));
  decoder.head_dim = TRY(reader.optional_integer("attention_head_dim", 2, 65536))
                         .value_or(2 * decoder.hidden_size / decoder.num_heads);
  if (decoder.head_dim * decoder.num_heads != 2 * decoder.hidden_size) {
    return reader.unexpected("attention_head_dim",
                             "twice hidden_size divided by num_attention_heads");
  }
  decoder.attention_scale = 1.0F / std::sqrt(static_cast<float>(decoder.head_dim) / 2.0F);
  decoder.mlp_bias = TRY(reader.boolean("add_bias_linear", false));
  if (TRY(reader.boolean("use_mem_rope", false))) {
    decoder.ropes.push_back(TRY(read_rope_config(reader, {.head_dim = decoder.head_dim})));
  }
  config.mamba = TRY(read_mamba2(reader, decoder.hidden_size, epsilon_of(decoder),
                                 {.heads = "n_mamba_heads",
                                  .head_dim = "mamba_headdim",
                                  .groups = "mamba_ngroups",
                                  .proj_bias = "add_bias_linear",
                                  .conv_bias = "use_conv_bias"}));
  config.mamba.norm_each_group = true;
  config.hybrid = TRY(read_hybrid_layers(reader, decoder.layers.size()));
  config.num_blocks = TRY(reader.integer("num_mem_blocks", 1, ConfigReader::kMostLayers));
  config.adapter_rank = TRY(reader.integer("adapter_rank", 1, 65536));
  config.attention_adapters = TRY(reader.boolean("use_shared_attention_adapter", false));
  return std::unique_ptr<Model>(std::make_unique<Zamba2>(std::move(config)));
}

}  // namespace godwit
