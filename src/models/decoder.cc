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

}  // namespace

Decoder::Decoder(DecoderConfig config) : config_(std::move(config)) {
  geometry_ = {.vocab_size = config_.vocab_size,
               .hidden_size = config_.hidden_size,
               .num_heads = config_.num_heads,
               .intermediate_size = config_.intermediate_size,
               .max_positions = config_.max_positions};
}

KvCacheSpec Decoder::kv_cache_spec() const {
  return {.num_layers = config_.num_layers,
          .num_kv_heads = config_.num_kv_heads,
          .head_dim = config_.head_dim};
}

Status Decoder::load(WeightsReader& reader, std::int64_t max_positions) {
  const std::int64_t hidden = config_.hidden_size;
  embedding_ = TRY(reader.read("model.embed_tokens.weight", {config_.vocab_size, hidden}));
  RopeConfig rope = config_.rope;
  if (auto factors = TRY(read_rope_factors(reader, rope))) {
    rope.scaling = *std::move(factors);
  }
  rotary_ = TRY(Rotary::create(reader, rope, max_positions));
  for (std::int64_t i = 0; i < config_.num_layers; ++i) {
    const std::string name = "model.layers." + std::to_string(i);
    const AttentionConfig attention = {
        .layer = i,
        .hidden_size = hidden,
        .num_heads = config_.num_heads,
        .num_kv_heads = config_.num_kv_heads,
        .head_dim = config_.head_dim,
        .window = config_.windows[static_cast<std::size_t>(i)],
        .qkv_bias = config_.qkv_bias,
        .o_bias = config_.o_bias,
        .qk_norm_epsilon =
            config_.qk_norm ? std::optional(config_.rms_norm_epsilon) : std::nullopt};
    DecoderLayer layer;
    layer.input_norm =
        TRY(RmsNorm::load(reader, name + ".input_layernorm", hidden, config_.rms_norm_epsilon));
    layer.attention = TRY(Attention::load(reader, name + ".self_attn", attention));
    layer.post_attention_norm = TRY(RmsNorm::load(reader, name + ".post_attention_layernorm",
                                                  hidden, config_.rms_norm_epsilon));
    layer.mlp = TRY(
        GatedMlp::load(reader, name + ".mlp", hidden, config_.intermediate_size, config_.mlp_bias));
    layers_.push_back(std::move(layer));
  }
  final_norm_ = TRY(RmsNorm::load(reader, "model.norm", hidden, config_.rms_norm_epsilon));
  if (config_.tied_embeddings) {
    TRY(reader.skip_copy("lm_head.weight", "model.embed_tokens.weight"));
    lm_head_.weight = embedding_;
  } else {
    lm_head_ = TRY(Linear::load(reader, "lm_head", hidden, config_.vocab_size, false));
  }
  return {};
}

Status Decoder::forward(const Context& context, const Tensor& ids, Tensor& hidden) const {
  Workspace::Scope scope(context.stream.workspace());
  Tensor normed =
      TRY(context.stream.workspace().tensor(DType::kF32, {hidden.dim(0), config_.hidden_size}));
  TRY(ops::embedding(context.stream, {.table = embedding_, .ids = ids, .out = hidden}));
  for (const DecoderLayer& layer : layers_) {
    TRY(layer.input_norm.forward(context, hidden, normed));
    TRY(layer.attention.forward(context, rotary_, normed, hidden));
    TRY(layer.post_attention_norm.forward(context, hidden, normed));
    TRY(layer.mlp.forward(context, normed, hidden));
  }
  return {};
}

Status Decoder::logits(const Context& context, Tensor& hidden, Tensor& out) const {
  TRY(final_norm_.forward(context, hidden, hidden));
  return lm_head_.forward(context, hidden, out);
}

}  // namespace godwit
