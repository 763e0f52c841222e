#include "models/gpt_decoder.h"

#include <bit>
#include <cmath>
#include <span>

#include "ops/dense.h"

namespace godwit {
namespace {

/// Where each row of [all queries | all keys | all values] is in a grouped projection.
std::vector<std::int64_t> grouped_rows(const GptDecoderConfig& config) {
  const std::int64_t share = config.num_heads / config.num_kv_heads;
  std::vector<std::int64_t> order;
  const auto take = [&](std::int64_t first_head, std::int64_t heads) {
    for (std::int64_t group = 0; group < config.num_kv_heads; ++group) {
      const std::int64_t begin = (group * (share + 2) + first_head) * config.head_dim;
      for (std::int64_t row = 0; row < heads * config.head_dim; ++row) {
        order.push_back(begin + row);
      }
    }
  };
  take(0, share);
  take(share, 1);
  take(share + 1, 1);
  return order;
}

}  // namespace

std::vector<float> alibi_slopes(std::int64_t num_heads) {
  const auto power =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(num_heads)));
  std::vector<float> slopes;
  for (std::int64_t i = 0; i < num_heads; ++i) {
    const double step =
        i < power ? static_cast<double>(i + 1) / static_cast<double>(power)
                  : static_cast<double>(2 * (i - power) + 1) / static_cast<double>(2 * power);
    slopes.push_back(static_cast<float>(std::exp2(-8.0 * step)));
  }
  return slopes;
}

GptDecoder::GptDecoder(GptDecoderConfig config) : config_(std::move(config)) {
  geometry_ = {.num_layers = config_.num_layers,
               .vocab_size = config_.vocab_size,
               .hidden_size = config_.hidden_size,
               .num_heads = config_.num_heads,
               .intermediate_size = config_.intermediate_size,
               .max_positions = config_.max_positions};
}

std::vector<LayerCacheSpec> GptDecoder::cache_specs() const {
  std::vector<LayerCacheSpec> specs;
  for (std::int64_t layer = 0; layer < config_.num_layers; ++layer) {
    specs.push_back({.layer = layer,
                     .num_kv_heads = config_.num_kv_heads,
                     .key_dim = config_.head_dim,
                     .value_dim = config_.head_dim});
  }
  return specs;
}

Result<Linear> GptDecoder::load_linear(WeightsReader& reader, const std::string& name,
                                       std::int64_t in, std::int64_t out, bool has_bias) const {
  if (!config_.transposed) {
    return Linear::load(reader, name, in, out, has_bias);
  }
  Linear linear;
  linear.weight = TRY(reader.read_transposed(name + ".weight", out, in));
  if (has_bias) {
    linear.bias = TRY(reader.read(name + ".bias", {out}, WeightKind::kVector));
  }
  return linear;
}

Status GptDecoder::load_qkv(WeightsReader& reader, const std::string& layer,
                            Attention& attention) const {
  const GptNames& names = config_.names;
  const std::int64_t hidden = config_.hidden_size;
  const std::int64_t q_width = config_.num_heads * config_.head_dim;
  const std::int64_t kv_width = config_.num_kv_heads * config_.head_dim;
  const std::int64_t width = q_width + 2 * kv_width;
  const bool bias = config_.qkv_bias;
  if (config_.qkv_layout == QkvLayout::kSeparate) {
    attention.q_proj = TRY(load_linear(reader, layer + names.q, hidden, q_width, bias));
    attention.k_proj = TRY(load_linear(reader, layer + names.k, hidden, kv_width, bias));
    attention.v_proj = TRY(load_linear(reader, layer + names.v, hidden, kv_width, bias));
    return {};
  }
  const std::string name = layer + names.qkv;
  Linear fused;
  if (config_.qkv_layout == QkvLayout::kStacked) {
    fused = TRY(load_linear(reader, name, hidden, width, bias));
  } else {
    const std::vector<std::int64_t> order = grouped_rows(config_);
    fused.weight = TRY(reader.read_rows(name + ".weight", {width, hidden}, order));
    if (bias) {
      fused.bias = TRY(reader.read_rows(name + ".bias", {width}, order, WeightKind::kVector));
    }
  }
  attention.q_proj = fused.rows(0, q_width);
  attention.k_proj = fused.rows(q_width, kv_width);
  attention.v_proj = fused.rows(q_width + kv_width, kv_width);
  return {};
}

Result<GptLayer> GptDecoder::load_layer(WeightsReader& reader, const std::string& base,
                                        std::int64_t index) const {
  const GptNames& names = config_.names;
  const std::string prefix = base + names.layers + std::to_string(index) + ".";
  const std::int64_t hidden = config_.hidden_size;
  const std::int64_t inner = config_.intermediate_size;
  const std::int64_t q_width = config_.num_heads * config_.head_dim;
  GptLayer layer;
  layer.attention_norm = TRY(LayerNorm::load(reader, prefix + names.attention_norm, config_.norm));
  if (names.mlp_norm != nullptr) {
    layer.mlp_norm = TRY(LayerNorm::load(reader, prefix + names.mlp_norm, config_.norm));
  }
  layer.attention.config = {.layer = index,
                            .hidden_size = hidden,
                            .num_heads = config_.num_heads,
                            .num_kv_heads = config_.num_kv_heads,
                            .head_dim = config_.head_dim};
  layer.attention.alibi_slopes = alibi_slopes_;
  TRY(load_qkv(reader, prefix, layer.attention));
  layer.attention.o_proj = TRY(load_linear(reader, prefix + names.attention_out, q_width, hidden,
                                           config_.attention_out_bias));
  layer.up = TRY(load_linear(reader, prefix + names.mlp_up, hidden, inner, config_.mlp_bias));
  layer.down = TRY(load_linear(reader, prefix + names.mlp_down, inner, hidden, config_.mlp_bias));
  return layer;
}

Status GptDecoder::load(WeightsReader& reader, std::int64_t max_positions) {
  const GptNames& names = config_.names;
  const std::int64_t hidden = config_.hidden_size;
  std::string base = names.base;
  if (!reader.contains(base + names.embedding + ".weight") &&
      reader.contains(std::string(names.embedding) + ".weight")) {
    base.clear();
  }
  const std::string embedding = base + names.embedding + ".weight";
  embedding_ = TRY(reader.read(embedding, {config_.vocab_size, hidden}));
  if (names.positions != nullptr) {
    const std::int64_t rows = config_.max_positions + config_.position_offset;
    positions_ = TRY(reader.read(base + names.positions + ".weight", {rows, hidden}))
                     .slice(0, config_.position_offset, config_.max_positions);
  }
  if (names.embedding_norm != nullptr) {
    embedding_norm_ = TRY(LayerNorm::load(reader, base + names.embedding_norm, config_.norm));
  }
  if (config_.alibi) {
    const std::vector<float> slopes = alibi_slopes(config_.num_heads);
    alibi_slopes_ = TRY(reader.allocate(DType::kF32, {config_.num_heads}));
    TRY(reader.stream().copy_in(alibi_slopes_.data, std::as_bytes(std::span(slopes))));
  }
  if (config_.rope) {
    rotary_ = TRY(Rotary::create(reader, *config_.rope, max_positions));
  }
  for (std::int64_t i = 0; i < config_.num_layers; ++i) {
    layers_.push_back(TRY(load_layer(reader, base, i)));
  }
  final_norm_ = TRY(LayerNorm::load(reader, base + names.final_norm, config_.norm));
  if (config_.tied_embeddings) {
    TRY(reader.skip_copy(std::string(names.head) + ".weight", embedding));
    lm_head_.weight = embedding_;
  } else {
    lm_head_ = TRY(Linear::load(reader, names.head, hidden, config_.vocab_size, config_.head_bias));
  }
  return {};
}

Status GptDecoder::mlp(const Context& context, const GptLayer& layer, const Tensor& x,
                       Tensor& residual) const {
  Workspace::Scope scope(context.stream.workspace());
  Tensor inner =
      TRY(context.stream.workspace().tensor(DType::kF32, {x.dim(0), config_.intermediate_size}));
  TRY(layer.up.forward(context, x, inner));
  TRY(ops::activation(context.stream,
                      {.x = inner, .out = inner, .activation = config_.activation}));
  return layer.down.forward_add(context, inner, residual);
}

Status GptDecoder::forward(const Context& context, const Tensor& ids, Tensor& hidden) const {
  Workspace::Scope scope(context.stream.workspace());
  Workspace& workspace = context.stream.workspace();
  Tensor attention_in = TRY(workspace.tensor(DType::kF32, {hidden.dim(0), config_.hidden_size}));
  Tensor mlp_in = TRY(workspace.tensor(DType::kF32, {hidden.dim(0), config_.hidden_size}));
  TRY(ops::embedding(context.stream, {.table = embedding_, .ids = ids, .out = hidden}));
  if (!positions_.empty()) {
    TRY(ops::embedding(context.stream, {.table = positions_,
                                        .ids = context.attention.positions,
                                        .out = hidden,
                                        .accumulate = true}));
  }
  if (embedding_norm_) {
    TRY(embedding_norm_->forward(context, hidden, hidden));
  }
  for (const GptLayer& layer : layers_) {
    TRY(layer.attention_norm.forward(context, hidden, attention_in));
    if (config_.parallel && layer.mlp_norm) {
      TRY(layer.mlp_norm->forward(context, hidden, mlp_in));
    }
    TRY(layer.attention.forward_add(context, rotary_, attention_in, hidden));
    if (!config_.parallel) {
      TRY(layer.mlp_norm->forward(context, hidden, mlp_in));
    }
    TRY(mlp(context, layer, layer.mlp_norm ? mlp_in : attention_in, hidden));
  }
  return {};
}

Status GptDecoder::logits(const Context& context, Tensor& hidden, Tensor& out) const {
  TRY(final_norm_.forward(context, hidden, hidden));
  return lm_head_.forward(context, hidden, out);
}

}  // namespace godwit
