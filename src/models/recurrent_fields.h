#pragma once
// Reading of the config fields that describe recurrent layers, which families call by many names.

#include "layers/recurrent.h"
#include "models/config_reader.h"
#include "models/decoder.h"

namespace godwit {

/// Marks the layers that are recurrent. Of these fields, those that are there must agree:
/// `layer_types` or `layers_block_type` (linear_attention or mamba; full_attention or attention),
/// attn_layer_indices, attn_layer_period with attn_layer_offset, full_attention_interval,
/// linear_attn_config (kda_layers and full_attn_layers, counted from 1).
/// Errors: kInvalidArgument naming the field; also when there is none.
Status read_recurrent_layers(const ConfigReader& reader, DecoderConfig& decoder);

/// Reads linear_num_key_heads, linear_num_value_heads, linear_key_head_dim, linear_value_head_dim
/// and linear_conv_kernel_dim.
Result<GatedDeltaNetConfig> read_gated_delta_net(const ConfigReader& reader,
                                                 const DecoderConfig& decoder);

/// What a family calls the sizes of its Mamba-2 layers.
struct Mamba2Fields {
  const char* heads = "mamba_n_heads";
  const char* head_dim = "mamba_d_head";
  const char* groups = "mamba_n_groups";
  const char* state_size = "mamba_d_state";
  const char* taps = "mamba_d_conv";
  const char* expand = "mamba_expand";  ///< Of hidden_size to the width; null: says nothing.
  const char* proj_bias = "mamba_proj_bias";
  const char* conv_bias = "mamba_conv_bias";
};
/// Reads and checks these, and time_step_limit.
Result<Mamba2Config> read_mamba2(const ConfigReader& reader, std::int64_t hidden_size,
                                 float epsilon, const Mamba2Fields& fields = {});

/// The length of a causal convolution: at least two taps.
Result<std::int64_t> read_taps(const ConfigReader& reader, const char* key);

/// A rank that is a number or "auto": a sixteenth of the hidden size, rounded up.
Result<std::int64_t> read_step_rank(const ConfigReader& reader, const char* key,
                                    std::int64_t hidden_size);

/// The epsilon of a decoder's norm.
float epsilon_of(const DecoderConfig& decoder);

}  // namespace godwit
