#include "models/text_config.h"

#include "models/config_reader.h"

namespace godwit {

Result<Json> text_config_of(Json config, const std::string& config_name) {
  constexpr const char* kText = "text_config";
  const ConfigReader reader(config, config_name);
  const Json* inner = reader.find(kText);
  if (inner == nullptr) {
    return config;
  }
  if (!inner->is_object()) {
    return reader.unexpected(kText, "an object that describes the text model");
  }
  Json text = *inner;
  const ConfigReader text_reader(text, config_name);
  for (const char* key : {"dtype", "torch_dtype", "bos_token_id", "eos_token_id", "pad_token_id",
                          "tie_word_embeddings", "quantization_config", "compression_config"}) {
    const Json* whole = reader.find(key);
    if (whole != nullptr && text_reader.find(key) == nullptr) {
      text.set(key, *whole);
    }
  }
  if (const Json* architectures = reader.find("architectures")) {
    text.set("architectures", *architectures);
  }
  return text;
}

}  // namespace godwit
