#pragma once
// Reading of the config fields that describe layers: activation, size of a head, windows, rope.

#include <cstdint>
#include <vector>

#include "layers/context.h"
#include "layers/rotary.h"
#include "models/config_reader.h"

namespace godwit {

/// Reads an activation by Hugging Face's name.
Result<Activation> read_activation(const ConfigReader& reader, const char* key);

/// The size of a head: `head_dim` when it is there and > 0, else hidden_size / num_attention_heads,
/// which must divide. Some checkpoints say head_dim 0 and mean that it is absent.
Result<std::int64_t> derive_head_dim(const ConfigReader& reader, std::int64_t hidden_size,
                                     std::int64_t num_heads);

/// One window a layer for Qwen's kind of config: from `layer_types` or, in older files, from
/// max_window_layers; all 0 (no window) unless use_sliding_window is true. `used_when_absent` is
/// what a config without it means.
Result<std::vector<std::int64_t>> read_windows(const ConfigReader& reader, std::int64_t num_layers,
                                               bool used_when_absent = false);

/// One window a layer for models in which every n-th layer sees everything and the others a window:
/// from `layer_types`, or from `sliding_window_pattern` (n, or a text such as "LLLG"), or with n =
/// `pattern` where the config has neither, as some families' published files.
Result<std::vector<std::int64_t>> read_alternating_windows(const ConfigReader& reader,
                                                           std::int64_t num_layers,
                                                           std::int64_t pattern);

struct RopeReading {
  std::int64_t head_dim = 0;
  bool partial = false;  ///< Whether the model may rotate a part of each head.
  /// For configs with rules by kind of layer: the member of rope_parameters to read.
  const char* layer_type = nullptr;
};

/// Reads either form of a config's rope fields: `rope_parameters`, or `rope_theta` and
/// `rope_scaling`. A `partial_rotary_factor` other than 1 is an error unless it is allowed; where
/// it is, `rotary_dim` may give the number of channels instead.
Result<RopeConfig> read_rope_config(const ConfigReader& reader, const RopeReading& reading);

}  // namespace godwit
