#include "weights/name_map.h"

#include <algorithm>
#include <array>

namespace godwit {
namespace {

struct NamePair {
  std::string_view hugging_face;
  std::string_view gguf;
};

/// Modules outside the layers, without ".weight" or ".bias".
constexpr std::array<NamePair, 12> kModules = {{
    {"model.embed_tokens", "token_embd"},
    {"model.norm", "output_norm"},
    {"lm_head", "output"},
    {"transformer.wte", "token_embd"},
    {"transformer.wpe", "position_embd"},
    {"transformer.word_embeddings", "token_embd"},
    {"transformer.word_embeddings_layernorm", "token_embd_norm"},
    {"transformer.ln_f", "output_norm"},
    {"transformer.norm_f", "output_norm"},
    {"gpt_neox.embed_in", "token_embd"},
    {"gpt_neox.final_layer_norm", "output_norm"},
    {"embed_out", "output"},
}};

/// What stands before a layer's number.
constexpr std::array<std::string_view, 4> kLayers = {
    {"model.layers.", "transformer.h.", "transformer.blocks.", "gpt_neox.layers."}};

/// Modules of one layer, after its number.
constexpr std::array<NamePair, 37> kLayerModules = {{
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.qkv_proj", "attn_qkv"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.gate_up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"post_self_attn_layernorm", "post_attention_norm"},
    {"pre_feedforward_layernorm", "ffn_norm"},
    {"post_feedforward_layernorm", "post_ffw_norm"},
    {"post_mlp_layernorm", "post_ffw_norm"},
    // GPT-2.
    {"ln_1", "attn_norm"},
    {"ln_2", "ffn_norm"},
    {"attn.c_attn", "attn_qkv"},
    {"attn.c_proj", "attn_output"},
    {"mlp.c_fc", "ffn_up"},
    {"mlp.c_proj", "ffn_down"},
    // Falcon, BLOOM and GPT-NeoX. Falcon's norm before attention is the second where there are two.
    {"ln_attn", "attn_norm_2"},
    {"ln_mlp", "attn_norm"},
    {"self_attention.query_key_value", "attn_qkv"},
    {"self_attention.dense", "attn_output"},
    {"attention.query_key_value", "attn_qkv"},
    {"attention.dense", "attn_output"},
    {"mlp.dense_h_to_4h", "ffn_up"},
    {"mlp.dense_4h_to_h", "ffn_down"},
    // MPT.
    {"norm_1", "attn_norm"},
    {"norm_2", "ffn_norm"},
    {"attn.Wqkv", "attn_qkv"},
    {"attn.out_proj", "attn_output"},
    {"ffn.up_proj", "ffn_up"},
    {"ffn.down_proj", "ffn_down"},
}};

/// Where post_attention_layernorm is not the norm before the feed-forward block, or where GGUF
/// does not call it so.
constexpr std::string_view kNormAfterAttention = "post_attention_layernorm";
constexpr std::array<std::string_view, 5> kWithNormAfterAttention = {
    {"gemma2", "gemma3", "olmo2", "exaone4", "seed_oss"}};

template <std::size_t kCount>
std::string_view find_module(const std::array<NamePair, kCount>& table, std::string_view name) {
  const auto* found = std::find_if(table.begin(), table.end(),
                                   [&](const NamePair& pair) { return pair.hugging_face == name; });
  return found == table.end() ? std::string_view() : found->gguf;
}

std::string_view find_layer_module(std::string_view name, std::string_view architecture) {
  const bool after_attention =
      name == kNormAfterAttention &&
      std::find(kWithNormAfterAttention.begin(), kWithNormAfterAttention.end(), architecture) !=
          kWithNormAfterAttention.end();
  return after_attention ? "post_attention_norm" : find_module(kLayerModules, name);
}

}  // namespace

std::string gguf_tensor_name(std::string_view name, std::string_view architecture) {
  const std::size_t last_dot = name.rfind('.');
  if (last_dot == std::string_view::npos) {
    return std::string(name);
  }
  std::string_view module = name.substr(0, last_dot);
  std::string prefix;
  std::string_view mapped;
  const auto* layers = std::find_if(kLayers.begin(), kLayers.end(), [&](std::string_view before) {
    return module.starts_with(before);
  });
  if (layers != kLayers.end()) {
    module.remove_prefix(layers->size());
    const std::size_t digits = std::min(module.find_first_not_of("0123456789"), module.size());
    if (digits > 0 && digits < module.size() && module[digits] == '.') {
      prefix = "blk." + std::string(module.substr(0, digits)) + ".";
      mapped = find_layer_module(module.substr(digits + 1), architecture);
    }
  } else {
    mapped = find_module(kModules, module);
  }
  if (mapped.empty()) {
    return std::string(name);
  }
  return prefix + std::string(mapped) + std::string(name.substr(last_dot));
}

}  // namespace godwit
