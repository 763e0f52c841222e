#pragma once
// Reading of the config fields that describe mixtures of experts, which families call by many
// names.

#include <cstdint>
#include <initializer_list>

#include "models/config_reader.h"
#include "models/decoder.h"
#include "moe/moe_layer.h"

namespace godwit {

/// How the config of a family differs in what read_moe_config() reads.
struct MoeFields {
  const char* top_k = "num_experts_per_tok";
  const char* width = "moe_intermediate_size";  ///< Of one routed expert.
};

/// Reads and checks the sizes of a decoder's experts: their number (`num_experts`,
/// `num_local_experts`, `n_routed_experts` or `moe_num_experts`), how many compute a token, their
/// width. Tensors get the names that most families use; there is no shared expert.
Result<MoeConfig> read_moe_config(const ConfigReader& reader, const DecoderConfig& decoder,
                                  const MoeFields& fields = {});

/// Gives the decoder the experts of DeepSeek-V3 and those that follow it: sigmoid scores, a
/// correction of the choice, groups as good as their two best, shared experts. Reads the sizes,
/// n_group, topk_group, norm_topk_prob, routed_scaling_factor, n_shared_experts and which layers
/// are sparse.
Status read_grouped_experts(const ConfigReader& reader, DecoderConfig& decoder);

/// A shared expert of this width that computes as the decoder's feed-forward blocks do.
SharedExpertConfig shared_expert(const DecoderConfig& decoder, std::int64_t width);

/// Mixtral's names: block_sparse_moe.gate and .experts.#.w1 (gate), .w3 (up), .w2 (down).
void use_mixtral_names(MoeConfig& moe);

/// Says which layers are sparse. `keys` are the fields that the family's code reads, of
/// first_k_dense_replace, moe_layer_freq (a number or a list), decoder_sparse_step,
/// mlp_only_layers, moe_layer_interval with moe_layer_start_index and moe_layer_end_index,
/// interleave_moe_layer_step, moe_layers, mlp_layer_types; a layer is sparse if none that is there
/// says otherwise. Errors: kInvalidArgument naming the field.
Status read_sparse_layers(const ConfigReader& reader, std::initializer_list<const char*> keys,
                          DecoderConfig& decoder);

}  // namespace godwit
