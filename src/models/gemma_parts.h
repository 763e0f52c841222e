#pragma once
// What Gemma 3n and 4 have in common beyond the ordinary decoder: layers that read the keys and
// values of an earlier one, and a second, narrow embedding of the tokens for each layer.

#include <cstdint>
#include <string>
#include <vector>

#include "models/decoder.h"

namespace godwit {

struct GemmaLayerConfig {
  std::int64_t head_dim = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t kv_source = 0;    ///< The layer whose keys and values are read; mostly its own.
  bool values_are_keys = false;  ///< Values are the keys' projection, before their norm and rope.
};

struct GemmaConfig {
  DecoderConfig decoder;  ///< What all decoders have. Rope 0 is that of layers without a window.
  std::vector<GemmaLayerConfig> layers;
  std::int64_t per_layer_width = 0;       ///< Of each layer's own embedding; 0: there is none.
  std::int64_t per_layer_vocab_size = 0;  ///< Its rows.

  [[nodiscard]] std::int64_t num_layers() const { return decoder.num_layers; }
  [[nodiscard]] const GemmaLayerConfig& layer(std::int64_t index) const {
    return layers[static_cast<std::size_t>(index)];
  }
  /// Layers that read an earlier one's keys and values store nothing.
  [[nodiscard]] std::vector<LayerCacheSpec> cache_specs() const;
  [[nodiscard]] ModelGeometry geometry() const;
};

/// Reads what both models have. Every layer has the sizes of the whole model and its own keys and
/// values; layers of `pattern` - 1 windows and one without, where the config has no layer_types.
Result<GemmaConfig> read_gemma_config(const ConfigReader& reader, std::int64_t pattern);

/// Reads num_kv_shared_layers: that many of the last layers read the keys and values of the last
/// layer before them of their own kind. To be called when the layers have their sizes.
/// Errors: kInvalidArgument when there is no such layer, or it has other sizes.
Status read_kv_sharing(const ConfigReader& reader, GemmaConfig& config);

/// The rope of Gemma 3's and 3n's layers with a window, which is never scaled. Older files give its
/// theta alone.
Result<RopeConfig> read_local_rope(const ConfigReader& reader, std::int64_t head_dim);

/// Null and absent mean none.
Result<float> read_softcap(const ConfigReader& reader, const char* key);

/// Attention with a norm on the heads of queries, keys and values (the last without scales) and
/// scores that are not scaled.
struct GemmaAttention {
  AttentionConfig config;
  GemmaLayerConfig layer;
  Linear q_proj;
  Linear k_proj;  ///< Of layers with keys of their own, as the next ones.
  Linear v_proj;
  Linear o_proj;
  RmsNorm q_norm;
  RmsNorm k_norm;
  RmsNorm v_norm;

  static Result<GemmaAttention> load(WeightsReader& reader, const std::string& prefix,
                                     const GemmaConfig& config, std::int64_t index);

  /// Shapes: x and out [tokens, hidden_size].
  Status forward(const Context& context, const Rotary& rotary, const Tensor& x, Tensor& out) const;

 private:
  [[nodiscard]] bool has_keys() const { return layer.kv_source == config.layer; }
  Status write_keys(const Context& context, const Rotary& rotary, const Tensor& x) const;
};

/// The embeddings of the tokens for each layer: a table's, and a projection of the model's own.
struct PerLayerEmbedding {
  std::int64_t width = 0;
  Tensor table;  ///< [rows, layers * width]
  Linear projection;
  RmsNorm norm;

  static Result<PerLayerEmbedding> load(WeightsReader& reader, const GemmaConfig& config);

  /// (norm(projection(embedded) / sqrt(hidden_size)) + table[ids] * sqrt(width)) / sqrt(2), shape
  /// [tokens, layers * width], in the workspace of the caller's scope. embedded [tokens,
  /// hidden_size] is the scaled embedding.
  Result<Tensor> forward(const Context& context, const Tensor& ids, const Tensor& embedded) const;
  /// The columns of one layer.
  [[nodiscard]] Tensor of_layer(const Tensor& all, std::int64_t layer) const {
    return all.slice(1, layer * width, width);
  }
};

/// How a layer takes its embedding in: norm(projection(activation(gate(x)) * embedding)).
struct PerLayerGate {
  Activation activation = Activation::kGeluTanh;
  Linear gate;
  Linear projection;
  RmsNorm norm;

  static Result<PerLayerGate> load(WeightsReader& reader, const std::string& prefix,
                                   const GemmaConfig& config);

  /// Shapes: x and out [tokens, hidden_size], out not x; embedding [tokens, width].
  Status forward(const Context& context, const Tensor& x, const Tensor& embedding,
                 Tensor& out) const;
};

/// The embedding, final norm and head of both models.
struct GemmaEnds {
  Tensor embedding;  ///< [vocab_size, hidden_size]
  RmsNorm norm;
  Linear head;

  static Result<GemmaEnds> load(WeightsReader& reader, const DecoderConfig& config);

  /// hidden = embedding[ids] * sqrt(hidden_size).
  Status embed(const Context& context, const Tensor& ids, const Tensor& hidden) const;
  /// See Model::logits().
  Status logits(const Context& context, float softcap, Tensor& hidden, Tensor& out) const;
};

}  // namespace godwit
