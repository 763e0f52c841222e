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
constexpr std::array<NamePair, 3> kModules = {{
    {"model.embed_tokens", "token_embd"},
    {"model.norm", "output_norm"},
    {"lm_head", "output"},
}};

/// Modules of one layer, after "model.layers.N." and "blk.N.".
constexpr std::array<NamePair, 11> kLayerModules = {{
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
}};

template <std::size_t kCount>
std::string_view find_module(const std::array<NamePair, kCount>& table, std::string_view name) {
  const auto* found = std::find_if(table.begin(), table.end(),
                                   [&](const NamePair& pair) { return pair.hugging_face == name; });
  return found == table.end() ? std::string_view() : found->gguf;
}

}  // namespace

std::string gguf_tensor_name(std::string_view name) {
  constexpr std::string_view kLayers = "model.layers.";
  const std::size_t last_dot = name.rfind('.');
  if (last_dot == std::string_view::npos) {
    return std::string(name);
  }
  std::string_view module = name.substr(0, last_dot);
  std::string prefix;
  std::string_view mapped;
  if (module.starts_with(kLayers)) {
    module.remove_prefix(kLayers.size());
    const std::size_t digits = std::min(module.find_first_not_of("0123456789"), module.size());
    if (digits > 0 && digits < module.size() && module[digits] == '.') {
      prefix = "blk." + std::string(module.substr(0, digits)) + ".";
      mapped = find_module(kLayerModules, module.substr(digits + 1));
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
