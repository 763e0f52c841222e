#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/config_reader.h"
#include "models/model.h"

namespace godwit {

// One function a model file; a new model is its file and its row here.
Result<std::unique_ptr<Model>> create_llama(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_qwen2(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_qwen3(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_bloom(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_falcon(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_deepseek_v2(const Json& config,
                                                  const std::string& config_name);
Result<std::unique_ptr<Model>> create_deepseek_v3(const Json& config,
                                                  const std::string& config_name);
Result<std::unique_ptr<Model>> create_deepseek_v32(const Json& config,
                                                   const std::string& config_name);
Result<std::unique_ptr<Model>> create_glm_moe_dsa(const Json& config,
                                                  const std::string& config_name);
Result<std::unique_ptr<Model>> create_longcat_flash(const Json& config,
                                                    const std::string& config_name);
Result<std::unique_ptr<Model>> create_gpt2(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_gptj(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_gpt_neox(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_mpt(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_nemotron(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_opt(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_mistral(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_granite(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_olmo2(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_olmo3(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_gemma2(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_gemma3(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_gemma3n(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_gemma4(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_phi3(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_glm4(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_smollm3(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_cohere2(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_exaone4(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_seed_oss(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_lfm2(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_lfm2_moe(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_qwen3_next(const Json& config,
                                                 const std::string& config_name);
Result<std::unique_ptr<Model>> create_qwen3_5(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_qwen3_5_moe(const Json& config,
                                                  const std::string& config_name);
Result<std::unique_ptr<Model>> create_bamba(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_jamba(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_mamba(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_granitemoehybrid(const Json& config,
                                                       const std::string& config_name);
Result<std::unique_ptr<Model>> create_kimi_linear(const Json& config,
                                                  const std::string& config_name);
Result<std::unique_ptr<Model>> create_falcon_h1(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_nemotron_h(const Json& config,
                                                 const std::string& config_name);
Result<std::unique_ptr<Model>> create_minimax(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_zamba2(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_mamba2(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_mixtral(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_qwen2_moe(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_qwen3_moe(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_olmoe(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_granitemoe(const Json& config,
                                                 const std::string& config_name);
Result<std::unique_ptr<Model>> create_phimoe(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_dots1(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_hunyuan_moe(const Json& config,
                                                  const std::string& config_name);
Result<std::unique_ptr<Model>> create_minimax_m2(const Json& config,
                                                 const std::string& config_name);
Result<std::unique_ptr<Model>> create_ernie4_5_moe(const Json& config,
                                                   const std::string& config_name);
Result<std::unique_ptr<Model>> create_glm4_moe(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_gpt_oss(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_llama4(const Json& config, const std::string& config_name);
Result<std::unique_ptr<Model>> create_mimo_v2(const Json& config, const std::string& config_name);

std::span<const ModelKind> model_table() {
  static constexpr auto kTable = std::to_array<ModelKind>({
      {.architecture = "LlamaForCausalLM", .create = &create_llama},
      {.architecture = "Qwen2ForCausalLM", .create = &create_qwen2},
      {.architecture = "Qwen3ForCausalLM", .create = &create_qwen3},
      {.architecture = "BloomForCausalLM", .create = &create_bloom},
      {.architecture = "FalconForCausalLM", .create = &create_falcon},
      {.architecture = "GPT2LMHeadModel", .create = &create_gpt2},
      {.architecture = "GPTJForCausalLM", .create = &create_gptj},
      {.architecture = "GPTNeoXForCausalLM", .create = &create_gpt_neox},
      {.architecture = "MptForCausalLM", .create = &create_mpt},
      {.architecture = "NemotronForCausalLM", .create = &create_nemotron},
      {.architecture = "OPTForCausalLM", .create = &create_opt},
      {.architecture = "MistralForCausalLM", .create = &create_mistral},
      {.architecture = "GraniteForCausalLM", .create = &create_granite},
      {.architecture = "Olmo2ForCausalLM", .create = &create_olmo2},
      {.architecture = "Olmo3ForCausalLM", .create = &create_olmo3},
      {.architecture = "Gemma2ForCausalLM", .create = &create_gemma2},
      {.architecture = "Gemma3ForCausalLM", .create = &create_gemma3},
      {.architecture = "Gemma3ForConditionalGeneration", .create = &create_gemma3},
      {.architecture = "Gemma3nForCausalLM", .create = &create_gemma3n},
      {.architecture = "Gemma3nForConditionalGeneration", .create = &create_gemma3n},
      {.architecture = "Gemma4ForCausalLM", .create = &create_gemma4},
      {.architecture = "Gemma4ForConditionalGeneration", .create = &create_gemma4},
      {.architecture = "Phi3ForCausalLM", .create = &create_phi3},
      {.architecture = "Glm4ForCausalLM", .create = &create_glm4},
      {.architecture = "SmolLM3ForCausalLM", .create = &create_smollm3},
      {.architecture = "Cohere2ForCausalLM", .create = &create_cohere2},
      {.architecture = "Exaone4ForCausalLM", .create = &create_exaone4},
      {.architecture = "SeedOssForCausalLM", .create = &create_seed_oss},
      {.architecture = "DeepseekV2ForCausalLM", .create = &create_deepseek_v2},
      {.architecture = "DeepseekV3ForCausalLM", .create = &create_deepseek_v3},
      {.architecture = "DeepseekV32ForCausalLM", .create = &create_deepseek_v32},
      {.architecture = "GlmMoeDsaForCausalLM", .create = &create_glm_moe_dsa},
      {.architecture = "LongcatFlashForCausalLM", .create = &create_longcat_flash},
      {.architecture = "Lfm2ForCausalLM", .create = &create_lfm2},
      {.architecture = "Lfm2MoeForCausalLM", .create = &create_lfm2_moe},
      {.architecture = "Qwen3NextForCausalLM", .create = &create_qwen3_next},
      {.architecture = "Qwen3_5ForCausalLM", .create = &create_qwen3_5},
      {.architecture = "Qwen3_5ForConditionalGeneration", .create = &create_qwen3_5},
      {.architecture = "Qwen3_5MoeForCausalLM", .create = &create_qwen3_5_moe},
      {.architecture = "Qwen3_5MoeForConditionalGeneration", .create = &create_qwen3_5_moe},
      {.architecture = "BambaForCausalLM", .create = &create_bamba},
      {.architecture = "JambaForCausalLM", .create = &create_jamba},
      {.architecture = "MambaForCausalLM", .create = &create_mamba},
      {.architecture = "GraniteMoeHybridForCausalLM", .create = &create_granitemoehybrid},
      {.architecture = "KimiLinearForCausalLM", .create = &create_kimi_linear},
      {.architecture = "FalconH1ForCausalLM", .create = &create_falcon_h1},
      {.architecture = "NemotronHForCausalLM", .create = &create_nemotron_h},
      {.architecture = "MiniMaxForCausalLM", .create = &create_minimax},
      {.architecture = "Zamba2ForCausalLM", .create = &create_zamba2},
      {.architecture = "Mamba2ForCausalLM", .create = &create_mamba2},
      {.architecture = "MixtralForCausalLM", .create = &create_mixtral},
      {.architecture = "Qwen2MoeForCausalLM", .create = &create_qwen2_moe},
      {.architecture = "Qwen3MoeForCausalLM", .create = &create_qwen3_moe},
      {.architecture = "OlmoeForCausalLM", .create = &create_olmoe},
      {.architecture = "GraniteMoeForCausalLM", .create = &create_granitemoe},
      {.architecture = "GraniteMoeSharedForCausalLM", .create = &create_granitemoe},
      {.architecture = "PhimoeForCausalLM", .create = &create_phimoe},
      {.architecture = "PhiMoEForCausalLM", .create = &create_phimoe},
      {.architecture = "Dots1ForCausalLM", .create = &create_dots1},
      {.architecture = "HunYuanMoEV1ForCausalLM", .create = &create_hunyuan_moe},
      {.architecture = "MiniMaxM2ForCausalLM", .create = &create_minimax_m2},
      {.architecture = "Ernie4_5_MoeForCausalLM", .create = &create_ernie4_5_moe},
      {.architecture = "Glm4MoeForCausalLM", .create = &create_glm4_moe},
      {.architecture = "GptOssForCausalLM", .create = &create_gpt_oss},
      {.architecture = "Llama4ForCausalLM", .create = &create_llama4},
      {.architecture = "MiMoV2FlashForCausalLM", .create = &create_mimo_v2},
  });
  return kTable;
}

namespace {

constexpr std::size_t kLongestName = 64;

/// Letters to insert, remove or replace to make one of the other. Source: Wagner and Fischer 1974,
/// "The String-to-String Correction Problem".
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char letter : a) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (letter == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

/// The three architectures whose names are most like this one.
std::string nearest_to(std::string_view name) {
  std::vector<std::pair<std::size_t, std::string_view>> known;
  for (const ModelKind& kind : model_table()) {
    known.emplace_back(edit_distance(name, kind.architecture), kind.architecture);
  }
  std::sort(known.begin(), known.end());
  std::string text;
  for (std::size_t i = 0; i < 3; ++i) {
    text += (i == 0 ? "" : i == 1 ? ", " : " and ") + std::string(known[i].second);
  }
  return text;
}

}  // namespace

Result<std::unique_ptr<Model>> create_model(const Json& config, const std::string& config_name) {
  const ConfigReader reader(config, config_name);
  const auto architectures = TRY(reader.optional_strings("architectures"));
  if (!architectures || architectures->empty()) {
    return reader.unexpected("architectures", "a list that names the model's class");
  }
  for (const ModelKind& kind : model_table()) {
    if (kind.architecture == architectures->front()) {
      return kind.create(config, config_name);
    }
  }
  const std::string name = architectures->front().substr(0, kLongestName);
  return unimplemented(config_name + ": godwit has no model " + name,
                       "the nearest that it has are " + nearest_to(name) +
                           "; docs/add-a-model.md says how to add one");
}

}  // namespace godwit
