// Gemma 3n, text: several residual streams, of which each layer computes one and predicts the
// others (AltUp), a low-rank map beside attention (LAuReL), an embedding for each layer,
// feed-forward blocks of which the largest part of the gate is kept.

#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "models/gemma_parts.h"
#include "ops/dense.h"
#include "ops/streams.h"

namespace godwit {
namespace {

/// The published code's bound of the mean square by which streams are scaled.
constexpr float kLeastSize = 1e-5F;
constexpr std::int64_t kMostStreams = 64;

struct Gemma3nConfig {
  GemmaConfig gemma;
  std::int64_t streams = 0;
  std::int64_t active = 0;  ///< The stream that layers compute.
  bool scale_output = false;
  std::int64_t laurel_rank = 0;
  /// One a layer: how many deviations above its mean a gate is cut; none: it is not.
  std::vector<std::optional<float>> cuts;
};

/// Predicts all streams of a layer's output, and corrects them by the one that was computed.
/// Source: Baykal et al. 2023, "Alternating Updates for Efficient Transformers".
struct AltUp {
  std::int64_t streams = 0;
  std::int64_t active = 0;
  RmsNorm router_norm;
  Linear router;
  Linear prediction;    ///< Its bias is the identity: a stream is predicted as itself, and a bit.
  Linear correction;    ///< Its bias is 1.
  Tensor output_scale;  ///< [hidden_size], or empty

  static Result<AltUp> load(WeightsReader& reader, const std::string& prefix,
                            const Gemma3nConfig& config);
  /// predicted[j] = x[j] + sum over i of prediction(modes(x[active]))[j, i] * x[i]. Shapes:
  /// [streams, tokens, hidden_size].
  Status predict(const Context& context, const Tensor& x, const Tensor& predicted) const;
  /// out[j] = predicted[j] + (1 + correction(modes(computed))[j]) * (computed -
  /// predicted[active]). computed [tokens, hidden_size].
  Status correct(const Context& context, const Tensor& predicted, const Tensor& computed,
                 const Tensor& out) const;

 private:
  /// tanh(router(norm(x) / hidden_size)), [tokens, streams], in the caller's scope.
  Result<Tensor> modes(const Context& context, const Tensor& x) const;
};

struct Gemma3nLayer {
  AltUp altup;
  RmsNorm before_attention;
  Linear laurel_down;
  Linear laurel_up;
  RmsNorm after_laurel;
  GemmaAttention attention;
  RmsNorm after_attention;
  RmsNorm before_mlp;
  GatedMlp mlp;
  RmsNorm after_mlp;
  PerLayerGate per_layer;
};

class Gemma3n final : public Model {
 public:
  explicit Gemma3n(Gemma3nConfig config)
      : config_(std::move(config)), geometry_(config_.gemma.geometry()) {}

  [[nodiscard]] const ModelGeometry& geometry() const override { return geometry_; }
  [[nodiscard]] std::vector<LayerCacheSpec> cache_specs() const override {
    return config_.gemma.cache_specs();
  }
  Status load(WeightsReader& reader, std::int64_t max_positions) override;
  Status forward(const Context& context, const Tensor& ids, Tensor& hidden) const override;
  Status logits(const Context& context, Tensor& hidden, Tensor& out) const override {
    return ends_.logits(context, config_.gemma.decoder.logits_softcap, hidden, out);
  }

 private:
  Result<Gemma3nLayer> load_layer(WeightsReader& reader, std::int64_t index) const;
  /// Stream 0 is `hidden`, the others maps of it, as large as it is.
  Status spread(const Context& context, const Tensor& hidden, const Tensor& streams) const;
  /// hidden = the mean of stream 0 and of maps of the others, as large as it is.
  Status gather(const Context& context, const Tensor& streams, const Tensor& hidden) const;
  /// What layer `index` makes of the active stream, into `out`.
  Status compute(const Context& context, std::size_t index, const Tensor& active,
                 Tensor& out) const;
  Status feed_forward(const Context& context, std::size_t index, const Tensor& x,
                      Tensor& out) const;
  /// streams = layer `index` of them; `scratch` is as large.
  Status run_layer(const Context& context, std::size_t index, const Tensor& embedding,
                   const Tensor& streams, const Tensor& scratch) const;

  Gemma3nConfig config_;
  ModelGeometry geometry_;
  GemmaEnds ends_;
  PerLayerEmbedding per_layer_;
  std::vector<Linear> spread_;  // One for each stream but the first, as the next.
  std::vector<Linear> gather_;
  std::vector<Rotary> rotaries_;
  std::vector<Gemma3nLayer> layers_;
};

/// A bias that the file does not have.
Result<Tensor> load_bias(WeightsReader& reader, const std::vector<float>& numbers) {
  const Tensor bias = TRY(reader.allocate(DType::kF32, {std::ssize(numbers)}));
  TRY(reader.stream().copy_in(bias.data, std::as_bytes(std::span(numbers))));
  TRY(reader.stream().synchronize());
  return bias;
}

Result<AltUp> AltUp::load(WeightsReader& reader, const std::string& prefix,
                          const Gemma3nConfig& config) {
  const DecoderConfig& decoder = config.gemma.decoder;
  const std::int64_t hidden = decoder.hidden_size;
  const std::int64_t n = config.streams;
  AltUp altup;
  altup.streams = n;
  altup.active = config.active;
  altup.router_norm = TRY(RmsNorm::load(reader, prefix + ".router_norm", hidden,
                                        std::get<RmsNormConfig>(decoder.norm)));
  altup.router = TRY(Linear::load(reader, prefix + ".modality_router", hidden, n, false));
  altup.prediction = TRY(Linear::load(reader, prefix + ".prediction_coefs", n, n * n, false));
  altup.correction = TRY(Linear::load(reader, prefix + ".correction_coefs", n, n, false));
  const auto width = static_cast<std::size_t>(n);
  std::vector<float> identity(width * width, 0.0F);
  for (std::size_t i = 0; i < width; ++i) {
    identity[i * width + i] = 1.0F;
  }
  altup.prediction.bias = TRY(load_bias(reader, identity));
  altup.correction.bias = TRY(load_bias(reader, std::vector<float>(width, 1.0F)));
  const std::string scale = prefix + ".correct_output_scale";
  if (config.scale_output) {
    altup.output_scale = TRY(reader.read(scale, {hidden}, WeightKind::kVector));
  } else {
    reader.skip_part(scale, "an output scale that the config switches off");
  }
  return altup;
}

Result<Tensor> AltUp::modes(const Context& context, const Tensor& x) const {
  Workspace& workspace = context.stream.workspace();
  Tensor modes = TRY(workspace.tensor(DType::kF32, {x.dim(0), streams}));
  const Workspace::Scope scope(workspace);
  Tensor normed = TRY(workspace.tensor(DType::kF32, {x.dim(0), x.dim(1)}));
  TRY(router_norm.forward(context, x, normed));
  TRY(router.forward(context, normed, modes));
  // A soft cap of 1 is the hyperbolic tangent.
  TRY(ops::scale(
      context.stream,
      {.x = modes, .out = modes, .scale = 1.0F / static_cast<float>(x.dim(1)), .softcap = 1.0F}));
  return modes;
}

Status AltUp::predict(const Context& context, const Tensor& x, const Tensor& predicted) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  const Tensor mode = TRY(modes(context, x.entry(active)));
  Tensor mix = TRY(workspace.tensor(DType::kF32, {x.dim(1), streams * streams}));
  TRY(prediction.forward(context, mode, mix));
  return ops::mix_streams(context.stream, {.x = x, .mix = mix, .out = predicted});
}

Status AltUp::correct(const Context& context, const Tensor& predicted, const Tensor& computed,
                      const Tensor& out) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  const Tensor mode = TRY(modes(context, computed));
  Tensor gain = TRY(workspace.tensor(DType::kF32, {computed.dim(0), streams}));
  TRY(correction.forward(context, mode, gain));
  const Tensor news = TRY(workspace.tensor(DType::kF32, {computed.dim(0), computed.dim(1)}));
  TRY(ops::scale(context.stream, {.x = computed, .out = news}));
  TRY(ops::add(context.stream, {.x = predicted.entry(active), .out = news, .scale = -1.0F}));
  return ops::mix_streams(context.stream, {.x = predicted, .y = news, .gain = gain, .out = out});
}

Result<Gemma3nLayer> Gemma3n::load_layer(WeightsReader& reader, std::int64_t index) const {
  const DecoderConfig& decoder = config_.gemma.decoder;
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  const std::int64_t hidden = decoder.hidden_size;
  const std::int64_t rank = config_.laurel_rank;
  const auto load_norm = [&](const char* name) {
    return RmsNorm::load(reader, prefix + name, hidden, std::get<RmsNormConfig>(decoder.norm));
  };
  Gemma3nLayer layer;
  layer.altup = TRY(AltUp::load(reader, prefix + "altup", config_));
  layer.before_attention = TRY(load_norm("input_layernorm"));
  layer.laurel_down = TRY(Linear::load(reader, prefix + "laurel.linear_left", hidden, rank, false));
  layer.laurel_up = TRY(Linear::load(reader, prefix + "laurel.linear_right", rank, hidden, false));
  layer.after_laurel = TRY(load_norm("laurel.post_laurel_norm"));
  layer.attention = TRY(GemmaAttention::load(reader, prefix + "self_attn", config_.gemma, index));
  layer.after_attention = TRY(load_norm("post_attention_layernorm"));
  layer.before_mlp = TRY(load_norm("pre_feedforward_layernorm"));
  layer.mlp = TRY(GatedMlp::load(reader, prefix + "mlp",
                                 {.hidden_size = hidden,
                                  .intermediate_size = config_.gemma.layer(index).intermediate_size,
                                  .form = {.activation = decoder.activation}}));
  layer.after_mlp = TRY(load_norm("post_feedforward_layernorm"));
  layer.per_layer = TRY(PerLayerGate::load(reader, prefix, config_.gemma));
  return layer;
}

Status Gemma3n::load(WeightsReader& reader, std::int64_t max_positions) {
  const DecoderConfig& decoder = config_.gemma.decoder;
  const std::int64_t hidden = decoder.hidden_size;
  ends_ = TRY(GemmaEnds::load(reader, decoder));
  per_layer_ = TRY(PerLayerEmbedding::load(reader, config_.gemma));
  for (std::int64_t i = 0; i + 1 < config_.streams; ++i) {
    const std::string number = std::to_string(i);
    spread_.push_back(
        TRY(Linear::load(reader, "model.altup_projections." + number, hidden, hidden, false)));
    gather_.push_back(TRY(
        Linear::load(reader, "model.altup_unembed_projections." + number, hidden, hidden, false)));
  }
  for (std::int64_t i = 0; i < config_.gemma.num_layers(); ++i) {
    layers_.push_back(TRY(load_layer(reader, i)));
  }
  for (const RopeConfig& rope : decoder.ropes) {
    rotaries_.push_back(TRY(Rotary::create(reader, rope, max_positions)));
  }
  return {};
}

Status Gemma3n::spread(const Context& context, const Tensor& hidden, const Tensor& streams) const {
  const Tensor first = streams.entry(0);
  TRY(ops::scale(context.stream, {.x = hidden, .out = first}));
  for (std::size_t i = 0; i < spread_.size(); ++i) {
    Tensor next = streams.entry(static_cast<std::int64_t>(i) + 1);
    TRY(spread_[i].forward(context, hidden, next));
    TRY(ops::match_size(context.stream,
                        {.x = next, .target = hidden, .out = next, .minimum = kLeastSize}));
  }
  return {};
}

Status Gemma3n::gather(const Context& context, const Tensor& streams, const Tensor& hidden) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  Tensor mapped = TRY(workspace.tensor(DType::kF32, {hidden.dim(0), hidden.dim(1)}));
  const Tensor first = streams.entry(0);
  const float part = 1.0F / static_cast<float>(config_.streams);
  TRY(ops::scale(context.stream, {.x = first, .out = hidden, .scale = part}));
  for (std::size_t i = 0; i < gather_.size(); ++i) {
    TRY(gather_[i].forward(context, streams.entry(static_cast<std::int64_t>(i) + 1), mapped));
    TRY(ops::match_size(context.stream,
                        {.x = mapped, .target = first, .out = mapped, .minimum = kLeastSize}));
    TRY(ops::add(context.stream, {.x = mapped, .out = hidden, .scale = part}));
  }
  return {};
}

Status Gemma3n::feed_forward(const Context& context, std::size_t index, const Tensor& x,
                             Tensor& out) const {
  const GatedMlp& mlp = layers_[index].mlp;
  const std::optional<float>& cut = config_.cuts[index];
  if (!cut) {
    return mlp.forward(context, x, out);
  }
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  Tensor gate = TRY(workspace.tensor(DType::kF32, {x.dim(0), mlp.config.intermediate_size}));
  Tensor up = TRY(workspace.tensor(DType::kF32, {x.dim(0), mlp.config.intermediate_size}));
  TRY(mlp.gate_proj.forward(context, x, gate));
  TRY(mlp.up_proj.forward(context, x, up));
  TRY(ops::keep_largest(context.stream, {.x = gate, .out = gate, .deviations = *cut}));
  TRY(ops::gated_activation(context.stream,
                            {.gate = gate, .up = up, .out = gate, .form = mlp.config.form}));
  return mlp.down_proj.forward(context, gate, out);
}

Status Gemma3n::compute(const Context& context, std::size_t index, const Tensor& active,
                        Tensor& out) const {
  const Gemma3nLayer& layer = layers_[index];
  const Rotary& rotary = rotaries_[*config_.gemma.decoder.layers[index].rope];
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  const std::int64_t tokens = active.dim(0);
  const std::int64_t hidden = active.dim(1);
  Tensor normed = TRY(workspace.tensor(DType::kF32, {tokens, hidden}));
  Tensor branch = TRY(workspace.tensor(DType::kF32, {tokens, hidden}));
  Tensor low = TRY(workspace.tensor(DType::kF32, {tokens, config_.laurel_rank}));
  // out = (active + attention + normed + laurel(normed)) / sqrt(2)
  TRY(layer.before_attention.forward(context, active, normed));
  TRY(layer.laurel_down.forward(context, normed, low));
  TRY(layer.laurel_up.forward(context, low, out));
  TRY(layer.after_laurel.forward(context, out, out));
  TRY(ops::add(context.stream, {.x = normed, .out = out}));
  TRY(layer.attention.forward(context, rotary, normed, branch));
  TRY(layer.after_attention.forward(context, branch, branch));
  TRY(ops::add(context.stream, {.x = branch, .out = out}));
  TRY(ops::add(context.stream, {.x = active, .out = out}));
  TRY(ops::scale(context.stream, {.x = out, .out = out, .scale = 1.0F / std::sqrt(2.0F)}));

  TRY(layer.before_mlp.forward(context, out, normed));
  TRY(feed_forward(context, index, normed, branch));
  TRY(layer.after_mlp.forward(context, branch, branch));
  return ops::add(context.stream, {.x = branch, .out = out});
}

Status Gemma3n::run_layer(const Context& context, std::size_t index, const Tensor& embedding,
                          const Tensor& streams, const Tensor& scratch) const {
  const Gemma3nLayer& layer = layers_[index];
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  Tensor computed = TRY(workspace.tensor(DType::kF32, {streams.dim(1), streams.dim(2)}));
  Tensor added = TRY(workspace.tensor(DType::kF32, {streams.dim(1), streams.dim(2)}));
  TRY(layer.altup.predict(context, streams, scratch));
  TRY(compute(context, index, scratch.entry(config_.active), computed));
  TRY(layer.altup.correct(context, scratch, computed, streams));
  Tensor first = streams.entry(config_.active);
  if (!layer.altup.output_scale.empty()) {
    TRY(ops::scale_channels(context.stream,
                            {.x = first, .factors = layer.altup.output_scale, .out = computed}));
    first = computed;
  }
  TRY(layer.per_layer.forward(context, first, embedding, added));
  for (std::int64_t j = 1; j < config_.streams; ++j) {
    TRY(ops::add(context.stream, {.x = added, .out = streams.entry(j)}));
  }
  return {};
}

Status Gemma3n::forward(const Context& context, const Tensor& ids, Tensor& hidden) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  const std::int64_t tokens = hidden.dim(0);
  const std::int64_t width = hidden.dim(1);
  const Tensor streams = TRY(workspace.tensor(DType::kF32, {config_.streams, tokens, width}));
  const Tensor scratch = TRY(workspace.tensor(DType::kF32, {config_.streams, tokens, width}));
  TRY(ends_.embed(context, ids, hidden));
  const Tensor embeddings = TRY(per_layer_.forward(context, ids, hidden));
  TRY(spread(context, hidden, streams));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Tensor own = per_layer_.of_layer(embeddings, static_cast<std::int64_t>(i));
    TRY(run_layer(context, i, own, streams, scratch));
  }
  return gather(context, streams, hidden);
}

/// intermediate_size is a number, or a list of one for each layer. Returns the config with a
/// number.
Result<Json> with_one_width(const Json& json, const std::string& config_name,
                            std::vector<std::int64_t>& widths) {
  constexpr const char* kKey = "intermediate_size";
  const ConfigReader reader(json, config_name);
  const Json* given = reader.find(kKey);
  if (given == nullptr || !given->is_array()) {
    return json;
  }
  for (const Json& width : given->as_array()) {
    const auto number = width.to_int64();
    if (!number || *number < 1 || *number > ConfigReader::kLargest) {
      return reader.unexpected(kKey, "a number > 0 for each layer");
    }
    widths.push_back(*number);
  }
  const std::int64_t layers =
      TRY(reader.integer("num_hidden_layers", 1, ConfigReader::kMostLayers));
  if (std::ssize(widths) != layers) {
    return reader.unexpected(kKey,
                             "a number > 0 for each of the " + std::to_string(layers) + " layers");
  }
  Json flat = json;
  flat.set(kKey, widths.front());
  return flat;
}

/// How many deviations above its mean a normal variable is with probability `part` below.
double normal_quantile(double part) {
  double low = -40.0;
  double high = 40.0;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2.0;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < part ? low : high) = middle;
  }
  return (low + high) / 2.0;
}

/// activation_sparsity_pattern: the part of the gate that is dropped, for all layers or each.
Status read_cuts(const ConfigReader& reader, Gemma3nConfig& config) {
  constexpr const char* kKey = "activation_sparsity_pattern";
  const std::size_t layers = config.gemma.layers.size();
  const std::string expected =
      "a number from 0 to below 1, or one for each of the " + std::to_string(layers) + " layers";
  config.cuts.resize(layers);
  const Json* given = reader.find(kKey);
  if (given == nullptr) {
    return {};
  }
  if (given->is_array() && given->as_array().size() != layers) {
    return reader.unexpected(kKey, expected);
  }
  for (std::size_t i = 0; i < layers; ++i) {
    const Json& value = given->is_array() ? given->as_array()[i] : *given;
    const double part = value.is_number() ? value.as_double() : -1.0;
    if (!(part >= 0.0 && part < 1.0)) {
      return reader.unexpected(kKey, expected);
    }
    if (part > 0.0) {
      config.cuts[i] = static_cast<float>(normal_quantile(part));
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Model>> create_gemma3n(const Json& json, const std::string& config_name) {
  std::vector<std::int64_t> widths;
  const Json flat = TRY(with_one_width(json, config_name, widths));
  const ConfigReader reader(flat, config_name);
  Gemma3nConfig config;
  GemmaConfig& gemma = config.gemma;
  gemma = TRY(read_gemma_config(reader, 5));
  for (std::size_t i = 0; i < widths.size(); ++i) {
    gemma.layers[i].intermediate_size = widths[i];
  }
  if (gemma.per_layer_width < 1) {
    return reader.unexpected("hidden_size_per_layer_input", "a number > 0");
  }
  TRY(read_kv_sharing(reader, gemma));
  const std::int64_t head_dim = gemma.decoder.head_dim;
  gemma.decoder.ropes = {
      TRY(read_rope_config(reader, {.head_dim = head_dim, .layer_type = "full_attention"})),
      TRY(read_local_rope(reader, head_dim))};
  config.streams = TRY(reader.integer("altup_num_inputs", 1, kMostStreams));
  config.active =
      TRY(reader.optional_integer("altup_active_idx", 0, config.streams - 1)).value_or(0);
  config.scale_output = TRY(reader.boolean("altup_correct_scale", true));
  config.laurel_rank = TRY(reader.integer("laurel_rank"));
  TRY(read_cuts(reader, config));
  return std::unique_ptr<Model>(std::make_unique<Gemma3n>(std::move(config)));
}

}  // namespace godwit
