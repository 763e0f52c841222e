#pragma once
// The recurrent layer of a family, of whichever kind.

#include <cstdint>
#include <string>
#include <variant>

#include "base/status.h"
#include "kv/kv_cache_spec.h"
#include "layers/gated_delta_net.h"
#include "layers/kimi_delta_attention.h"
#include "layers/lightning_attention.h"
#include "layers/mamba1.h"
#include "layers/mamba2.h"

namespace godwit {

/// The member `layer` is set when it is loaded.
using RecurrentConfig =
    std::variant<GatedDeltaNetConfig, KimiDeltaConfig, LightningConfig, Mamba1Config, Mamba2Config>;

/// The config of layer `index`.
RecurrentConfig at_layer(RecurrentConfig config, std::int64_t index);
LayerCacheSpec cache_spec_of(const RecurrentConfig& config);

struct Recurrent {
  std::variant<GatedDeltaNet, KimiDeltaAttention, LightningAttention, Mamba1, Mamba2> kind;

  static Result<Recurrent> load(WeightsReader& reader, const std::string& prefix,
                                const RecurrentConfig& config);

  /// Shapes: x and out [tokens, hidden_size].
  Status forward(const Context& context, const Tensor& x, Tensor& out) const;
  /// Adds to what `out` holds, as a residual stream wants it.
  Status forward_add(const Context& context, const Tensor& x, Tensor& out) const;
};

}  // namespace godwit
