#include "models/decoder.h"

#include <cmath>
#include <optional>
#include <variant>

#include "ops/dense.h"

namespace godwit {
namespace {

/// The factors that GGUF files store for Llama 3.1's rope; nothing when there are none.
Result<std::optional<FactorsRope>> read_rope_factors(WeightsReader& reader,
                                                     const RopeConfig& rope) {
  constexpr const char* kName = "rope_freqs.weight";
  const auto stored = TRY(reader.read_optional(kName, {rope.rotary_dim / 2}, WeightKind::kVector));
  if (!stored) {
    return std::optional<FactorsRope>();
  }
  if (stored->dtype != DType::kF32) {
    return invalid_argument(std::string(kName) + " is " + to_string(*stored) + ", expected f32");
  }
  if (!std::holds_alternative<DefaultRope>(rope.scaling)) {
    return unimplemented(std::string(kName) + " is there although the metadata scale rope as well",
                         "godwit computes one of them; convert the model again");
  }
  FactorsRope factors;
  factors.factors.resize(static_cast<std::size_t>(stored->elements()));
  TRY(reader.stream().copy_out(std::as_writable_bytes(std::span(factors.factors)), stored->data));
  TRY(reader.stream().synchronize());
  for (const float factor : factors.factors) {
    if (!std::isnormal(factor) || factor < 0.0F) {
      return invalid_argument(std::string(kName) + " holds " + std::to_string(factor) +
                                  ", but frequencies are divided by it",
                              "the file is damaged or was written wrongly; fetch it again");
    }
  }
  return std::optional(std::move(factors));
}

/// The table of a temperature, in f32 as the published code computes it.
Result<Rotary> temperature_table(WeightsReader& reader, const QueryTemperature& temperature,
                                 std::int64_t width, std::int64_t max_positions) {
  return Rotary::create_scaling(reader, width, max_positions, [&](std::int64_t position) {
    const float periods =
        std::floor(static_cast<float>(position + 1) / static_cast<float>(temperature.period));
    return std::log1p(periods) * static_cast<float>(temperature.scale) + 1.0F;
  });
}

}  // namespace

Decoder::Decoder(DecoderConfig config) : config_(std::move(config)) {
  geometry_ = {.num_layers = config_.num_layers,
               .vocab_size = config_.vocab_size,
               .hidden_size = config_.hidden_size,
               .num_heads = config_.num_heads,
               .intermediate_size = config_.intermediate_size,
               .max_positions = config_.max_positions};
}

AttentionConfig Decoder::attention_config(std::int64_t index) const {
  const DecoderLayerConfig& layer = config_.layers[static_cast<std::size_t>(index)];
  return {.layer = index,
          .hidden_size = config_.hidden_size,
          .num_heads = config_.num_heads,
          .num_kv_heads = layer.num_kv_heads > 0 ? layer.num_kv_heads : config_.num_kv_heads,
          .head_dim = config_.head_dim,
          .value_dim = config_.value_dim,
          .window = layer.window,
          .scale = config_.attention_scale,
          .softcap = config_.attention_softcap,
          .qkv_bias = config_.qkv_bias,
          .o_bias = config_.o_bias,
          .fused_qkv = config_.fused_qkv,
          .qk_norm = layer.qk_norm ? config_.qk_norm : std::nullopt,
          .qkv_limit = config_.qkv_limit,
          .chunk = layer.chunk,
          .value_scale = config_.value_scale,
          .sinks = layer.sinks ? config_.sinks : nullptr,
          .output_gate = config_.attention_gate};
}

std::vector<LayerCacheSpec> Decoder::cache_specs() const {
  std::vector<LayerCacheSpec> specs;
  for (std::int64_t i = 0; i < config_.num_layers; ++i) {
    const DecoderLayerConfig& layer = config_.layers[static_cast<std::size_t>(i)];
    if (!layer.has_attention) {
      continue;
    }
    if (layer.recurrent) {
      specs.push_back(cache_spec_of(at_layer(*config_.recurrent, i)));
      continue;
    }
    if (config_.mla) {
      specs.push_back(mla_config(i).cache_spec());
      continue;
    }
    const AttentionConfig attention = attention_config(i);
    specs.push_back({.layer = i,
                     .num_kv_heads = attention.num_kv_heads,
                     .key_dim = attention.head_dim,
                     .value_dim = attention.value_width(),
                     .retention = attention.chunk > 0 ? Retention::chunk(attention.chunk)
                                                      : Retention::window(attention.window)});
  }
  return specs;
}

MlaConfig Decoder::mla_config(std::int64_t index) const {
  MlaConfig mla = *config_.mla;
  mla.layer = index;
  if (!config_.layers[static_cast<std::size_t>(index)].has_indexer) {
    mla.indexer.reset();
  }
  return mla;
}

Status Decoder::load_ropes(WeightsReader& reader, std::int64_t max_positions) {
  for (RopeConfig rope : config_.ropes) {
    if (config_.ropes.size() == 1) {
      if (auto factors = TRY(read_rope_factors(reader, rope))) {
        rope.scaling = *std::move(factors);
      }
    }
    rotaries_.push_back(TRY(Rotary::create(reader, rope, max_positions)));
  }
  return {};
}

Status Decoder::load_attention(WeightsReader& reader, const std::string& prefix, std::int64_t index,
                               DecoderLayer& layer) const {
  const std::string name = prefix + config_.attention_name;
  if (config_.layers[static_cast<std::size_t>(index)].recurrent) {
    layer.recurrent = TRY(Recurrent::load(reader, prefix + config_.recurrent_name,
                                          at_layer(*config_.recurrent, index)));
  } else if (config_.mla) {
    layer.mla = TRY(Mla::load(reader, name, mla_config(index)));
  } else {
    layer.attention = TRY(Attention::load(reader, name, attention_config(index)));
  }
  return {};
}

Result<DecoderLayer> Decoder::load_layer(WeightsReader& reader, std::int64_t index) const {
  const std::string prefix = std::string(config_.layers_name) + "." + std::to_string(index) + ".";
  const auto load_norm = [&](const char* name) -> Result<std::optional<Norm>> {
    if (name == nullptr) {
      return std::optional<Norm>();
    }
    return std::optional(TRY(Norm::load(reader, prefix + name, config_.hidden_size, config_.norm)));
  };
  const GatedMlpConfig mlp = {.hidden_size = config_.hidden_size,
                              .intermediate_size = config_.intermediate_size,
                              .form = {.activation = config_.activation},
                              .has_bias = config_.mlp_bias,
                              .fused = config_.fused_gate_up,
                              .gate_up = config_.gate_up_name,
                              .gate = config_.mlp_gate_name,
                              .down = config_.down_name};
  const BlockNorms& norms = config_.block_norms;
  const DecoderLayerConfig& kind = config_.layers[static_cast<std::size_t>(index)];
  DecoderLayer layer;
  if (kind.has_attention) {
    layer.before_attention = TRY(load_norm(norms.before_attention));
    TRY(load_attention(reader, prefix, index, layer));
    layer.after_attention = TRY(load_norm(norms.after_attention));
  }
  if (kind.has_mlp) {
    layer.before_mlp = TRY(load_norm(norms.before_mlp));
    if (kind.sparse) {
      layer.moe = TRY(MoeLayer::load(reader, prefix, *config_.moe));
    } else {
      layer.mlp = TRY(GatedMlp::load(reader, prefix + config_.mlp_name, mlp));
    }
    layer.after_mlp = TRY(load_norm(norms.after_mlp));
  }
  return layer;
}

Status Decoder::load(WeightsReader& reader, std::int64_t max_positions) {
  const std::int64_t hidden = config_.hidden_size;
  const std::string embedding = std::string(config_.embedding_name) + ".weight";
  embedding_ = TRY(reader.read(embedding, {config_.vocab_size, hidden}));
  TRY(load_ropes(reader, max_positions));
  const Rotary scaling =
      config_.temperature
          ? TRY(temperature_table(reader, *config_.temperature, config_.head_dim, max_positions))
          : Rotary();
  for (std::int64_t i = 0; i < config_.num_layers; ++i) {
    layers_.push_back(TRY(load_layer(reader, i)));
    if (config_.layers[static_cast<std::size_t>(i)].temperature) {
      layers_.back().attention->temperature = scaling;
    }
  }
  for (std::int64_t i = 0; i < config_.draft_layers; ++i) {
    reader.skip_part("model.layers." + std::to_string(config_.num_layers + i) + ".",
                     "a layer that drafts tokens");
  }
  if (config_.draft_part != nullptr) {
    reader.skip_part(config_.draft_part, "layers that draft tokens");
  }
  final_norm_ = TRY(Norm::load(reader, config_.final_norm, hidden, config_.norm));
  if (config_.tied_embeddings) {
    TRY(reader.skip_copy("lm_head.weight", embedding));
    lm_head_.weight = embedding_;
  } else {
    lm_head_ =
        TRY(Linear::load(reader, "lm_head", hidden, config_.vocab_size, config_.lm_head_bias));
  }
  return {};
}

template <class Block, class AddBlock>
Status Decoder::add_branch(const Context& context, const std::optional<Norm>& after,
                           const Block& block, const AddBlock& add_block, Tensor& hidden) const {
  if (!after && config_.residual_scale == 1.0F) {
    return add_block(hidden);
  }
  Workspace& workspace = context.stream.workspace();
  Workspace::Scope scope(workspace);
  Tensor branch = TRY(workspace.tensor(DType::kF32, {hidden.dim(0), config_.hidden_size}));
  TRY(block(branch));
  if (after) {
    TRY(after->forward(context, branch, branch));
  }
  return ops::add(context.stream, {.x = branch, .out = hidden, .scale = config_.residual_scale});
}

Status Decoder::add_attention(const Context& context, std::size_t index, const Tensor& chosen,
                              Tensor& normed, Tensor& hidden) const {
  const DecoderLayer& layer = layers_[index];
  const auto rope = config_.layers[index].rope;
  const Rotary no_positions;
  const Rotary& rotary = rope ? rotaries_[*rope] : no_positions;
  if (layer.before_attention) {
    TRY(layer.before_attention->forward(context, hidden, normed));
  }
  const Tensor& input = layer.before_attention ? normed : hidden;
  return add_branch(
      context, layer.after_attention,
      [&](Tensor& out) {
        return layer.recurrent ? layer.recurrent->forward(context, input, out)
               : layer.mla     ? layer.mla->forward(context, rotary, input, chosen, out)
                               : layer.attention->forward(context, rotary, input, out);
      },
      [&](Tensor& out) {
        return layer.recurrent ? layer.recurrent->forward_add(context, input, out)
               : layer.mla     ? layer.mla->forward_add(context, rotary, input, chosen, out)
                               : layer.attention->forward_add(context, rotary, input, out);
      },
      hidden);
}

Status Decoder::add_mlp(const Context& context, const DecoderLayer& layer, const Tensor& ids,
                        Tensor& normed, Tensor& hidden) const {
  if (layer.before_mlp) {
    TRY(layer.before_mlp->forward(context, hidden, normed));
  }
  const Tensor& input = layer.before_mlp || config_.parallel ? normed : hidden;
  return add_branch(
      context, layer.after_mlp,
      [&](Tensor& out) {
        return layer.moe ? layer.moe->forward(context, ids, input, out)
                         : layer.mlp->forward(context, input, out);
      },
      [&](Tensor& out) {
        return layer.moe ? layer.moe->forward_add(context, ids, input, out)
                         : layer.mlp->forward_add(context, input, out);
      },
      hidden);
}

Status Decoder::forward(const Context& context, const Tensor& ids, Tensor& hidden) const {
  Workspace& workspace = context.stream.workspace();
  Workspace::Scope scope(workspace);
  Tensor normed = TRY(workspace.tensor(DType::kF32, {hidden.dim(0), config_.hidden_size}));
  TRY(ops::embedding(context.stream, {.table = embedding_, .ids = ids, .out = hidden}));
  if (config_.embedding_scale != 1.0F) {
    TRY(ops::scale(context.stream, {.x = hidden, .out = hidden, .scale = config_.embedding_scale}));
  }
  Tensor chosen;
  if (config_.mla && config_.mla->indexer) {
    chosen = TRY(workspace.tensor(DType::kI32, {hidden.dim(0), config_.mla->indexer->most}));
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (config_.layers[i].has_attention) {
      TRY(add_attention(context, i, chosen, normed, hidden));
    }
    if (config_.layers[i].has_mlp) {
      TRY(add_mlp(context, layers_[i], ids, normed, hidden));
    }
  }
  return {};
}

Status Decoder::logits(const Context& context, Tensor& hidden, Tensor& out) const {
  TRY(final_norm_.forward(context, hidden, hidden));
  TRY(lm_head_.forward(context, hidden, out));
  if (config_.logits_scale == 1.0F && config_.logits_softcap == 0.0F) {
    return {};
  }
  return ops::scale(
      context.stream,
      {.x = out, .out = out, .scale = config_.logits_scale, .softcap = config_.logits_softcap});
}

}  // namespace godwit
