// Llama 4, text: one expert of many beside a shared one, in all or some layers; attention within
// chunks where there is rope, over everything and sharpened by position where there is none.

#include "models/moe_fields.h"

namespace godwit {
namespace {

/// Published files say true, false or a number.
Result<bool> read_switch(const ConfigReader& reader, const char* key, bool absent) {
  const Json* value = reader.find(key);
  if (value != nullptr && value->is_integer()) {
    return value->to_int64() != 0;
  }
  return reader.boolean(key, absent);
}

/// Chunks go with rope unless `layer_types` says which layers have them.
Status read_chunks(const ConfigReader& reader, DecoderConfig& config) {
  const auto types = TRY(reader.optional_strings("layer_types"));
  if (types && types->size() != config.layers.size()) {
    return reader.unexpected("layer_types", "one entry for each layer");
  }
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    if (types && (*types)[i] != "chunked_attention" && (*types)[i] != "full_attention") {
      return reader.unexpected("layer_types", "chunked_attention or full_attention");
    }
    const bool chunked =
        types ? (*types)[i] == "chunked_attention" : config.layers[i].rope.has_value();
    config.layers[i].chunk = chunked ? TRY(reader.integer("attention_chunk_size")) : 0;
  }
  return {};
}

Status read_experts(const ConfigReader& reader, DecoderConfig& config) {
  MoeConfig moe = TRY(read_moe_config(reader, config, {.width = "intermediate_size"}));
  moe.router.rule.score = RouterScore::kSigmoidOfChosen;
  moe.router.gate = "feed_forward.router";
  moe.experts.weights_on_input = true;
  moe.experts.storage = ExpertStorage::kColumns;
  moe.experts.gate = "feed_forward.experts.gate_up_proj";
  moe.experts.down = "feed_forward.experts.down_proj";
  moe.shared = shared_expert(config, moe.experts.width);
  moe.shared->name = "feed_forward.shared_expert";
  config.moe = moe;
  // The list wins over the step, as in Hugging Face's code.
  const bool listed = reader.find("moe_layers") != nullptr;
  return read_sparse_layers(reader, {listed ? "moe_layers" : "interleave_moe_layer_step"}, config);
}

}  // namespace

Result<std::unique_ptr<Model>> create_llama4(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  TRY(read_attention_bias(reader, config));
  config.intermediate_size = TRY(reader.integer("intermediate_size_mlp"));
  config.mlp_name = "feed_forward";
  config.ropes.front().interleaved = true;
  TRY(read_rope_layers(reader, 4, config));
  TRY(read_chunks(reader, config));
  if (TRY(reader.boolean("use_qk_norm", true))) {
    RmsNormConfig norm = std::get<RmsNormConfig>(config.norm);
    norm.has_weight = false;
    config.qk_norm = QkNormConfig{.norm = norm, .after_rope = true};
  }
  const bool tuned = TRY(read_switch(reader, "attn_temperature_tuning", true));
  if (tuned) {
    config.temperature = QueryTemperature{.scale = TRY(reader.positive("attn_scale")),
                                          .period = TRY(reader.positive("floor_scale"))};
  }
  for (DecoderLayerConfig& layer : config.layers) {
    layer.qk_norm = layer.rope.has_value();
    layer.temperature = tuned && !layer.rope.has_value();
  }
  TRY(read_experts(reader, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
