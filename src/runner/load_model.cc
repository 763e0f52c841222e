#include "runner/load_model.h"

#include <array>

#include "base/mapped_file.h"
#include "models/gguf_config.h"
#include "models/quantization_fields.h"
#include "models/text_config.h"

namespace godwit {
namespace {

/// Buffers that old checkpoints saved although they are computed from the config: frequencies and
/// causal masks. And what config_from_gguf() has made a part of the config.
constexpr std::array<std::string_view, 7> kIgnorable = {
    ".rotary_emb.inv_freq",     ".attn.bias",
    ".attn.masked_bias",        ".attention.bias",
    ".attention.masked_bias",   "rope_factors_long.weight",
    "rope_factors_short.weight"};

constexpr std::string_view kConfigFile = "config.json";

Result<Json> read_config(const std::filesystem::path& file) {
  const std::string text = TRY(read_file(file, std::size_t{16} << 20));
  JsonParseOptions options;
  options.allow_non_finite = true;
  options.max_values = 1'000'000;
  return text_config_of(TRY(parse_json(text, file.string(), options)), file.string());
}

}  // namespace

Result<ModelFiles> open_model(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return not_found("there is no file or folder " + path.string(),
                     "give a folder with config.json and .safetensors files, a .gguf file, or "
                     "the name of a model on a hub: ORG/NAME");
  }
  return open_model(TRY(Checkpoint::open(path)));
}

Result<ModelFiles> open_model(Checkpoint checkpoint) {
  const std::filesystem::path path = checkpoint.path();
  const bool is_gguf = checkpoint.gguf() != nullptr;
  std::string name = is_gguf ? path.string() : (path / kConfigFile).string();
  Json config = TRY(is_gguf ? config_from_gguf(*checkpoint.gguf()) : read_config(name));
  std::unique_ptr<Model> model = TRY(create_model(config, name));
  return ModelFiles{.path = path,
                    .config = std::move(config),
                    .config_name = std::move(name),
                    .checkpoint = std::move(checkpoint),
                    .model = std::move(model)};
}

Result<std::unique_ptr<Model>> describe_model(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kConfigFile;
  return create_model(TRY(read_config(file)), file.string());
}

Result<LoadedModel> load_model(ModelFiles files, Device& device, Stream& stream,
                               std::int64_t max_model_len) {
  const Quantization quantization =
      TRY(read_quantization(ConfigReader(files.config, files.config_name)));
  WeightsReader reader(files.checkpoint, device, stream, quantization);
  TRY(files.model->load(reader, max_model_len));
  TRY(reader.finish(kIgnorable));
  return LoadedModel{.model = std::move(files.model), .weights = reader.take_store()};
}

}  // namespace godwit
