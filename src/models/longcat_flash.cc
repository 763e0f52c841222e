// LongCat-Flash: a layer is twice latent attention and a dense block; its experts, some of which
// return their input, read what the first dense block reads and are added at the layer's end, so
// that on several ranks their traffic has the whole layer to hide behind.

#include <array>
#include <cmath>

#include "models/mla_fields.h"
#include "models/moe_fields.h"
#include "ops/dense.h"

namespace godwit {
namespace {

/// One of the two halves of a layer.
struct LongcatBlock {
  Norm before_attention;
  Mla attention;
  Norm before_mlp;
  GatedMlp mlp;
};

struct LongcatLayer {
  std::array<LongcatBlock, 2> blocks;
  MoeLayer experts;
};

class LongcatFlash final : public Model {
 public:
  explicit LongcatFlash(DecoderConfig config) : config_(std::move(config)) {
    geometry_ = {.num_layers = 2 * config_.num_layers,
                 .vocab_size = config_.vocab_size,
                 .hidden_size = config_.hidden_size,
                 .num_heads = config_.num_heads,
                 .intermediate_size = config_.intermediate_size,
                 .max_positions = config_.max_positions};
  }

  [[nodiscard]] const ModelGeometry& geometry() const override { return geometry_; }
  [[nodiscard]] std::vector<LayerCacheSpec> cache_specs() const override {
    std::vector<LayerCacheSpec> specs;
    for (std::int64_t cache = 0; cache < geometry_.num_layers; ++cache) {
      specs.push_back(mla_config(cache).cache_spec());
    }
    return specs;
  }
  Status load(WeightsReader& reader, std::int64_t max_positions) override;
  Status forward(const Context& context, const Tensor& ids, Tensor& hidden) const override;
  Status logits(const Context& context, Tensor& hidden, Tensor& out) const override {
    TRY(final_norm_.forward(context, hidden, hidden));
    return lm_head_.forward(context, hidden, out);
  }

 private:
  [[nodiscard]] MlaConfig mla_config(std::int64_t cache) const {
    MlaConfig mla = *config_.mla;
    mla.layer = cache;
    return mla;
  }
  Result<LongcatBlock> load_block(WeightsReader& reader, const std::string& prefix,
                                  std::int64_t half, std::int64_t cache) const;

  DecoderConfig config_;
  ModelGeometry geometry_;
  Tensor embedding_;  // [vocab_size, hidden_size]
  Rotary rotary_;
  std::vector<LongcatLayer> layers_;
  Norm final_norm_;
  Linear lm_head_;
};

Result<LongcatBlock> LongcatFlash::load_block(WeightsReader& reader, const std::string& prefix,
                                              std::int64_t half, std::int64_t cache) const {
  const std::string number = "." + std::to_string(half);
  const auto load_norm = [&](const char* name) {
    return Norm::load(reader, prefix + name + number, config_.hidden_size, config_.norm);
  };
  return LongcatBlock{
      .before_attention = TRY(load_norm("input_layernorm")),
      .attention = TRY(Mla::load(reader, prefix + "self_attn" + number, mla_config(cache))),
      .before_mlp = TRY(load_norm("post_attention_layernorm")),
      .mlp = TRY(GatedMlp::load(reader, prefix + "mlps" + number,
                                {.hidden_size = config_.hidden_size,
                                 .intermediate_size = config_.intermediate_size,
                                 .form = {.activation = config_.activation}}))};
}

Status LongcatFlash::load(WeightsReader& reader, std::int64_t max_positions) {
  const std::int64_t hidden = config_.hidden_size;
  embedding_ = TRY(reader.read("model.embed_tokens.weight", {config_.vocab_size, hidden}));
  rotary_ = TRY(Rotary::create(reader, config_.ropes.front(), max_positions));
  for (std::int64_t i = 0; i < config_.num_layers; ++i) {
    const std::string prefix = "model.layers." + std::to_string(i) + ".";
    layers_.push_back({.blocks = {TRY(load_block(reader, prefix, 0, 2 * i)),
                                  TRY(load_block(reader, prefix, 1, 2 * i + 1))},
                       .experts = TRY(MoeLayer::load(reader, prefix, *config_.moe))});
  }
  final_norm_ = TRY(Norm::load(reader, "model.norm", hidden, config_.norm));
  lm_head_ = TRY(Linear::load(reader, "lm_head", hidden, config_.vocab_size, false));
  return {};
}

Status LongcatFlash::forward(const Context& context, const Tensor& ids, Tensor& hidden) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  Tensor normed = TRY(workspace.tensor(DType::kF32, {hidden.dim(0), config_.hidden_size}));
  Tensor shortcut = TRY(workspace.tensor(DType::kF32, {hidden.dim(0), config_.hidden_size}));
  TRY(ops::embedding(context.stream, {.table = embedding_, .ids = ids, .out = hidden}));
  for (const LongcatLayer& layer : layers_) {
    for (const LongcatBlock& block : layer.blocks) {
      TRY(block.before_attention.forward(context, hidden, normed));
      TRY(block.attention.forward_add(context, rotary_, normed, {}, hidden));
      TRY(block.before_mlp.forward(context, hidden, normed));
      if (&block == &layer.blocks.front()) {
        TRY(layer.experts.forward(context, ids, normed, shortcut));
      }
      TRY(block.mlp.forward_add(context, normed, hidden));
    }
    TRY(ops::add(context.stream, {.x = shortcut, .out = hidden}));
  }
  return {};
}

/// Queries and latents from a rank below hidden_size are scaled up to the size that they would have
/// from all of it. Queries' factor is the scores'.
Status read_rank_scales(const ConfigReader& reader, DecoderConfig& config) {
  MlaConfig& mla = *config.mla;
  const auto factor_of = [&](std::int64_t rank) {
    return std::sqrt(static_cast<float>(config.hidden_size) / static_cast<float>(rank));
  };
  if (mla.q_lora_rank > 0 && TRY(reader.boolean("mla_scale_q_lora", true))) {
    mla.scale *= factor_of(mla.q_lora_rank);
  }
  if (TRY(reader.boolean("mla_scale_kv_lora", true))) {
    mla.latent_scale = factor_of(mla.kv_lora_rank);
  }
  return {};
}

/// Softmax over all experts, those that return their input included, and a correction of the
/// choice; weights are not renormalised.
Result<MoeConfig> read_longcat_experts(const ConfigReader& reader, const DecoderConfig& config) {
  MoeConfig moe = TRY(
      read_moe_config(reader, config, {.top_k = "moe_topk", .width = "expert_ffn_hidden_size"}));
  moe.identity_experts = TRY(reader.optional_integer("zero_expert_num", 0, 65536)).value_or(0);
  constexpr const char* kKind = "zero_expert_type";
  if (reader.find(kKind) != nullptr && TRY(reader.string(kKind)) != "identity") {
    return unimplemented(reader.name() + ": " + kKind + " is " + to_json(*reader.find(kKind)),
                         "godwit has experts that return their input, \"identity\"");
  }
  moe.router.num_experts += moe.identity_experts;
  moe.router.gate = "mlp.router.classifier";
  moe.router.gate_bias = TRY(reader.boolean("router_bias", false));
  moe.router.correction = "mlp.router.e_score_correction_bias";
  moe.router.rule = {.score = RouterScore::kSoftmax,
                     .scale = static_cast<float>(TRY(reader.positive("routed_scaling_factor")))};
  return moe;
}

}  // namespace

Result<std::unique_ptr<Model>> create_longcat_flash(const Json& json,
                                                    const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader, {.num_layers = "num_layers",
                                                          .intermediate_size = "ffn_hidden_size",
                                                          .latent_attention = true}));
  if (config.tied_embeddings) {
    return unimplemented(config_name + ": tie_word_embeddings is true",
                         "godwit knows LongCat-Flash with a head of its own");
  }
  TRY(read_rank_scales(reader, config));
  config.moe = TRY(read_longcat_experts(reader, config));
  return std::unique_ptr<Model>(std::make_unique<LongcatFlash>(std::move(config)));
}

}  // namespace godwit
