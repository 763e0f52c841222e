// Mamba and Mamba-2: recurrent layers and nothing else.

#include "models/quantization_fields.h"
#include "models/recurrent_fields.h"

namespace godwit {
namespace {

Result<DecoderConfig> read_mamba(const ConfigReader& reader) {
  TRY(read_quantization(reader));
  DecoderConfig config;
  config.vocab_size = TRY(reader.integer("vocab_size"));
  config.hidden_size = TRY(reader.integer("hidden_size"));
  config.num_layers = TRY(reader.integer("num_hidden_layers", 1, ConfigReader::kMostLayers));
  // A state has no positions, and so no last one; this is what memory for a request's ids allows.
  config.max_positions = std::int64_t{1} << 20;
  config.norm =
      RmsNormConfig{.epsilon = static_cast<float>(TRY(reader.positive("layer_norm_epsilon")))};
  if (TRY(read_activation(reader, "hidden_act")) != Activation::kSilu) {
    return unimplemented(reader.name() + ": hidden_act is " + to_json(*reader.find("hidden_act")),
                         "godwit has Mamba with silu");
  }
  config.layers.assign(static_cast<std::size_t>(config.num_layers),
                       {.rope = std::nullopt, .recurrent = true, .has_mlp = false});
  config.recurrent_name = "mixer";
  config.block_norms = {.before_attention = "norm", .before_mlp = nullptr};
  config.embedding_name = "backbone.embeddings";
  config.layers_name = "backbone.layers";
  config.final_norm = "backbone.norm_f";
  return config;
}

}  // namespace

Result<std::unique_ptr<Model>> create_mamba(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_mamba(reader));
  const std::int64_t expand = TRY(reader.integer("expand", 1, 256));
  const auto channels = TRY(reader.optional_integer("intermediate_size"));
  if (channels && *channels != expand * config.hidden_size) {
    return reader.unexpected("intermediate_size", "expand times hidden_size, " +
                                                      std::to_string(expand * config.hidden_size));
  }
  config.recurrent =
      Mamba1Config{.hidden_size = config.hidden_size,
                   .channels = expand * config.hidden_size,
                   .state_size = TRY(reader.integer("state_size", 1, 65536)),
                   .step_rank = TRY(read_step_rank(reader, "time_step_rank", config.hidden_size)),
                   .taps = TRY(read_taps(reader, "conv_kernel")),
                   .proj_bias = TRY(reader.boolean("use_bias", false)),
                   .conv_bias = TRY(reader.boolean("use_conv_bias", true))};
  config.tied_embeddings = TRY(reader.boolean("tie_word_embeddings", true));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

Result<std::unique_ptr<Model>> create_mamba2(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_mamba(reader));
  config.recurrent = TRY(read_mamba2(reader, config.hidden_size, epsilon_of(config),
                                     {.heads = "num_heads",
                                      .head_dim = "head_dim",
                                      .groups = "n_groups",
                                      .state_size = "state_size",
                                      .taps = "conv_kernel",
                                      .expand = "expand",
                                      .proj_bias = "use_bias",
                                      .conv_bias = "use_conv_bias"}));
  config.tied_embeddings = TRY(reader.boolean("tie_word_embeddings", false));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
