#include "models/gemma_parts.h"

#include <cmath>

#include "ops/attention.h"
#include "ops/dense.h"

namespace godwit {

Result<GemmaAttention> GemmaAttention::load(WeightsReader& reader, const std::string& prefix,
                                            const GemmaConfig& config, std::int64_t index) {
  const DecoderConfig& decoder = config.decoder;
  const GemmaLayerConfig& layer = config.layer(index);
  const RmsNormConfig& norm = std::get<RmsNormConfig>(decoder.norm);
  const std::int64_t hidden = decoder.hidden_size;
  const std::int64_t q_width = decoder.num_heads * layer.head_dim;
  const std::int64_t kv_width = layer.num_kv_heads * layer.head_dim;
  GemmaAttention attention;
  attention.layer = layer;
  attention.config = {.layer = index,
                      .hidden_size = hidden,
                      .num_heads = decoder.num_heads,
                      .num_kv_heads = layer.num_kv_heads,
                      .head_dim = layer.head_dim,
                      .window = decoder.layers[static_cast<std::size_t>(index)].window,
                      .qkv_bias = decoder.qkv_bias,
                      .o_bias = decoder.o_bias};
  const bool bias = decoder.qkv_bias;
  attention.q_proj = TRY(Linear::load(reader, prefix + ".q_proj", hidden, q_width, bias));
  attention.q_norm = TRY(RmsNorm::load(reader, prefix + ".q_norm", layer.head_dim, norm));
  attention.o_proj = TRY(Linear::load(reader, prefix + ".o_proj", q_width, hidden, decoder.o_bias));
  if (!attention.has_keys()) {
    // Published files have these for every layer.
    for (const char* name : {".k_proj.", ".v_proj.", ".k_norm."}) {
      reader.skip_part(prefix + name, "a layer that reads an earlier one's keys");
    }
    return attention;
  }
  attention.k_proj = TRY(Linear::load(reader, prefix + ".k_proj", hidden, kv_width, bias));
  attention.k_norm = TRY(RmsNorm::load(reader, prefix + ".k_norm", layer.head_dim, norm));
  if (!layer.values_are_keys) {
    attention.v_proj = TRY(Linear::load(reader, prefix + ".v_proj", hidden, kv_width, bias));
  }
  RmsNormConfig no_scales = norm;
  no_scales.has_weight = false;
  attention.v_norm = TRY(RmsNorm::load(reader, prefix + ".v_norm", layer.head_dim, no_scales));
  return attention;
}

Status GemmaAttention::write_keys(const Context& context, const Rotary& rotary,
                                  const Tensor& x) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  const std::int64_t width = config.num_kv_heads * config.head_dim;
  Tensor k_flat = TRY(workspace.tensor(DType::kF32, {x.dim(0), width}));
  Tensor v_flat = TRY(workspace.tensor(DType::kF32, {x.dim(0), width}));
  Tensor k = k_flat.split_last(config.head_dim);
  Tensor v = v_flat.split_last(config.head_dim);
  TRY(k_proj.forward(context, x, k_flat));
  if (!layer.values_are_keys) {
    TRY(v_proj.forward(context, x, v_flat));
  }
  TRY(v_norm.forward(context, layer.values_are_keys ? k : v, v));
  TRY(k_norm.forward(context, k, k));
  TRY(rotary.forward(context, k));
  const LayerCache& cache = context.cache(config.layer);
  return ops::kv_write(context.stream, {.k = k,
                                        .v = v,
                                        .slots = context.tables(cache).slots,
                                        .k_cache = cache.k,
                                        .v_cache = cache.v});
}

Status GemmaAttention::forward(const Context& context, const Rotary& rotary, const Tensor& x,
                               Tensor& out) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  if (has_keys()) {
    TRY(write_keys(context, rotary, x));
  }
  const std::int64_t width = config.num_heads * config.head_dim;
  Tensor q_flat = TRY(workspace.tensor(DType::kF32, {x.dim(0), width}));
  Tensor q = q_flat.split_last(config.head_dim);
  TRY(q_proj.forward(context, x, q_flat));
  TRY(q_norm.forward(context, q, q));
  TRY(rotary.forward(context, q));

  const LayerCache& cache = context.cache(layer.kv_source);
  const Tensor found = TRY(workspace.tensor(DType::kF32, {x.dim(0), width}));
  TRY(ops::attention(context.stream, {.q = q,
                                      .k_cache = cache.k,
                                      .v_cache = cache.v,
                                      .block_tables = context.tables(cache).block_tables,
                                      .query_start = context.attention.query_start,
                                      .context_lens = context.attention.context_lens,
                                      .alibi_slopes = {},
                                      .out = found.split_last(config.head_dim),
                                      .scale = 1.0F,
                                      .window = config.window}));
  return o_proj.forward(context, found, out);
}

Result<PerLayerEmbedding> PerLayerEmbedding::load(WeightsReader& reader,
                                                  const GemmaConfig& config) {
  const std::int64_t all = config.num_layers() * config.per_layer_width;
  PerLayerEmbedding embedding;
  embedding.width = config.per_layer_width;
  embedding.table =
      TRY(reader.read("model.embed_tokens_per_layer.weight", {config.per_layer_vocab_size, all}));
  embedding.projection = TRY(Linear::load(reader, "model.per_layer_model_projection",
                                          config.decoder.hidden_size, all, false));
  embedding.norm = TRY(RmsNorm::load(reader, "model.per_layer_projection_norm", embedding.width,
                                     std::get<RmsNormConfig>(config.decoder.norm)));
  return embedding;
}

Result<Tensor> PerLayerEmbedding::forward(const Context& context, const Tensor& ids,
                                          const Tensor& embedded) const {
  Workspace& workspace = context.stream.workspace();
  const std::int64_t tokens = embedded.dim(0);
  Tensor sum = TRY(workspace.tensor(DType::kF32, {tokens, table.dim(1)}));
  const Workspace::Scope scope(workspace);
  const Tensor rows = TRY(workspace.tensor(DType::kF32, {tokens, table.dim(1)}));
  const auto root = [](std::int64_t n) { return std::sqrt(static_cast<float>(n)); };
  TRY(projection.forward(context, embedded, sum));
  TRY(ops::scale(context.stream, {.x = sum, .out = sum, .scale = 1.0F / root(embedded.dim(1))}));
  Tensor parts = sum.split_last(width);
  TRY(norm.forward(context, parts, parts));
  TRY(ops::embedding(context.stream, {.table = table, .ids = ids, .out = rows}));
  TRY(ops::add(context.stream, {.x = rows, .out = sum, .scale = root(width)}));
  TRY(ops::scale(context.stream, {.x = sum, .out = sum, .scale = 1.0F / root(2)}));
  return sum;
}

Result<PerLayerGate> PerLayerGate::load(WeightsReader& reader, const std::string& prefix,
                                        const GemmaConfig& config) {
  const std::int64_t hidden = config.decoder.hidden_size;
  const std::int64_t width = config.per_layer_width;
  PerLayerGate gate;
  gate.activation = config.decoder.activation;
  gate.gate = TRY(Linear::load(reader, prefix + "per_layer_input_gate", hidden, width, false));
  gate.projection =
      TRY(Linear::load(reader, prefix + "per_layer_projection", width, hidden, false));
  gate.norm = TRY(RmsNorm::load(reader, prefix + "post_per_layer_input_norm", hidden,
                                std::get<RmsNormConfig>(config.decoder.norm)));
  return gate;
}

Status PerLayerGate::forward(const Context& context, const Tensor& x, const Tensor& embedding,
                             Tensor& out) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  Tensor inner = TRY(workspace.tensor(DType::kF32, {x.dim(0), embedding.dim(1)}));
  TRY(gate.forward(context, x, inner));
  TRY(ops::gated_activation(
      context.stream,
      {.gate = inner, .up = embedding, .out = inner, .form = {.activation = activation}}));
  TRY(projection.forward(context, inner, out));
  return norm.forward(context, out, out);
}

Result<GemmaEnds> GemmaEnds::load(WeightsReader& reader, const DecoderConfig& config) {
  constexpr const char* kEmbedding = "model.embed_tokens.weight";
  const std::int64_t hidden = config.hidden_size;
  GemmaEnds ends;
  ends.embedding = TRY(reader.read(kEmbedding, {config.vocab_size, hidden}));
  ends.norm =
      TRY(RmsNorm::load(reader, "model.norm", hidden, std::get<RmsNormConfig>(config.norm)));
  if (config.tied_embeddings) {
    TRY(reader.skip_copy("lm_head.weight", kEmbedding));
    ends.head.weight = ends.embedding;
  } else {
    ends.head = TRY(Linear::load(reader, "lm_head", hidden, config.vocab_size, false));
  }
  return ends;
}

Status GemmaEnds::embed(const Context& context, const Tensor& ids, const Tensor& hidden) const {
  TRY(ops::embedding(context.stream, {.table = embedding, .ids = ids, .out = hidden}));
  const float scale = std::sqrt(static_cast<float>(hidden.dim(1)));
  return ops::scale(context.stream, {.x = hidden, .out = hidden, .scale = scale});
}

Status GemmaEnds::logits(const Context& context, float softcap, Tensor& hidden, Tensor& out) const {
  TRY(norm.forward(context, hidden, hidden));
  TRY(head.forward(context, hidden, out));
  if (softcap == 0.0F) {
    return {};
  }
  return ops::scale(context.stream, {.x = out, .out = out, .softcap = softcap});
}

}  // namespace godwit
