#include "cli/text_assets.h"

#include <algorithm>

#include "base/mapped_file.h"
#include "cli/gguf_text.h"
#include "models/config_reader.h"
#include "text/chat_template_files.h"
#include "text/tokenizer_files.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestConfig = std::size_t{64} << 20;
constexpr const char* kGenerationConfig = "generation_config.json";

/// The JSON file, or null when there is none.
Result<Json> read_optional_json(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return Json();
  }
  const std::string text = TRY(read_file(path, kLargestConfig));
  Json json = TRY(parse_json(text, path.string(), {.allow_non_finite = true}));
  if (!json.is_object()) {
    return invalid_argument(path.string() + " holds no JSON object");
  }
  return json;
}

/// `eos_token_id` is absent, null, an id, or a list of ids.
Status append_eos_ids(const Json& config, const std::string& name, std::vector<TokenId>& ids) {
  const Json* value = config.find("eos_token_id");
  if (value == nullptr || value->is_null()) {
    return {};
  }
  const JsonArray single = {*value};
  for (const Json& element : value->is_array() ? value->as_array() : single) {
    const auto id = element.to_int64();
    if (!id || *id < 0 || *id > ConfigReader::kLargest - 1) {
      return invalid_argument(name + ": eos_token_id is " + to_json(*value),
                              "it must be a token id or a list of them");
    }
    const auto token = static_cast<TokenId>(*id);
    if (std::find(ids.begin(), ids.end(), token) == ids.end()) {
      ids.push_back(token);
    }
  }
  return {};
}

/// What generation_config.json says of sampling, under Hugging Face's names.
Status read_defaults(const Json& config, const std::string& name, TextAssets& assets) {
  const auto read_float = [&](const char* key, float& value) -> Status {
    const Json* member = config.find(key);
    if (member == nullptr || member->is_null()) {
      return {};
    }
    if (!member->is_number()) {
      return invalid_argument(name + ": " + key + " is " + to_json(*member), "it must be a number");
    }
    value = static_cast<float>(member->as_double());
    return {};
  };
  TRY(read_float("temperature", assets.defaults.temperature));
  TRY(read_float("top_p", assets.defaults.top_p));
  TRY(read_float("min_p", assets.defaults.min_p));
  TRY(read_float("repetition_penalty", assets.defaults.repetition_penalty));
  const ConfigReader reader(config, name);
  if (const auto top_k = TRY(reader.optional_integer("top_k", -1))) {
    assets.defaults.top_k = static_cast<std::int32_t>(*top_k);
  }
  if (const auto longest = TRY(reader.optional_integer("max_new_tokens"))) {
    assets.max_output_tokens = longest;
  }
  if (const Status status = validate(assets.defaults); !status.ok()) {
    return invalid_argument(name + ": " + std::string(status.cause()),
                            std::string(status.remedy()));
  }
  return {};
}

/// Sampling defaults as `--generation-config` and `--override-generation-config` say. `own` is the
/// model's generation_config.json, called `own_name`; null when it has none.
Status load_defaults(const Json& own, const std::string& own_name, const ModelOptions& options,
                     TextAssets& assets) {
  if (options.generation_config == "auto") {
    TRY(read_defaults(own, own_name, assets));
  } else if (options.generation_config != "vllm") {
    const fs::path file = fs::path(options.generation_config) / kGenerationConfig;
    const Json config = TRY(read_optional_json(file));
    if (config.is_null()) {
      return invalid_argument("--generation-config is " + options.generation_config + ", but " +
                                  file.string() + " does not exist",
                              "give auto, vllm, or a folder with that file");
    }
    TRY(read_defaults(config, file.string(), assets));
  }
  if (options.override_generation_config.empty()) {
    return {};
  }
  constexpr const char* kFlag = "--override-generation-config";
  const Json over = TRY(parse_json(options.override_generation_config, kFlag));
  if (!over.is_object()) {
    return invalid_argument(std::string(kFlag) + " holds no JSON object",
                            R"(give one such as {"temperature": 0.5})");
  }
  return read_defaults(over, kFlag, assets);
}

/// `--chat-template`: the name of a file, or a template given in place.
Result<std::string> template_from_option(const std::string& option) {
  std::error_code error;
  if (option.find_first_of("{}\n") != std::string::npos && !fs::exists(option, error)) {
    return option;
  }
  return read_file(option, kLargestConfig);
}

Status load_tokenizer_and_template(const ModelFiles& files, const ModelOptions& options,
                                   TextAssets& assets) {
  const fs::path from = options.tokenizer.empty() ? files.path : fs::path(options.tokenizer);
  // The model's own file is parsed already.
  const GgufFile* gguf = options.tokenizer.empty() ? files.checkpoint.gguf() : nullptr;
  std::optional<GgufFile> another;
  if (gguf == nullptr && from.extension() == ".gguf") {
    another = TRY(GgufFile::open(from));
    gguf = &*another;
  }
  ChatTemplateFiles found;
  if (gguf != nullptr) {
    const GgufVocabulary vocabulary = TRY(gguf_vocabulary(*gguf));
    assets.tokenizer = std::make_shared<const Tokenizer>(TRY(Tokenizer::from_gguf(vocabulary)));
    found.tokens = gguf_special_tokens(*gguf);
    found.source = TRY(gguf_chat_template(*gguf));
  } else {
    assets.tokenizer = std::make_shared<const Tokenizer>(TRY(load_tokenizer(from)));
    found = TRY(read_chat_template_files(fs::is_directory(from) ? from : from.parent_path()));
  }
  if (!options.chat_template.empty()) {
    found.source = TRY(template_from_option(options.chat_template));
    found.tool_source.reset();
  }
  if (found.source) {
    assets.chat_template = std::make_shared<const ChatTemplate>(
        TRY(ChatTemplate::create(*found.source, std::move(found.tokens), found.tool_source)));
  }
  return {};
}

}  // namespace

Result<Tokenizer> open_tokenizer(const fs::path& path) {
  if (path.extension() == ".gguf") {
    const GgufFile gguf = TRY(GgufFile::open(path));
    return Tokenizer::from_gguf(TRY(gguf_vocabulary(gguf)));
  }
  return load_tokenizer(path);
}

Result<TextAssets> load_text_assets(const ModelFiles& files, const ModelOptions& options) {
  TextAssets assets;
  if (!options.skip_tokenizer_init) {
    TRY(load_tokenizer_and_template(files, options, assets));
  }
  Json generation;
  const std::string generation_name = (files.path / kGenerationConfig).string();
  if (const GgufFile* gguf = files.checkpoint.gguf()) {
    assets.eos_ids = gguf_eos_ids(*gguf);
  } else {
    generation = TRY(read_optional_json(generation_name));
    TRY(append_eos_ids(files.config, files.config_name, assets.eos_ids));
    TRY(append_eos_ids(generation, generation_name, assets.eos_ids));
  }
  TRY(load_defaults(generation, generation_name, options, assets));
  return assets;
}

}  // namespace godwit
