#pragma once
// A linear map through a narrow middle, added to a wider one's output: an adapter.

#include <cstdint>
#include <string>

#include "base/status.h"
#include "layers/linear.h"

namespace godwit {

/// y = up(down(x)). Source: Hu et al. 2021, "LoRA".
struct LowRank {
  Linear down;  ///< [rank, in_features]
  Linear up;    ///< [out_features, rank]

  /// Reads `prefix`.0 and `prefix`.1.
  static Result<LowRank> load(WeightsReader& reader, const std::string& prefix,
                              std::int64_t in_features, std::int64_t rank,
                              std::int64_t out_features) {
    return LowRank{.down = TRY(Linear::load(reader, prefix + ".0", in_features, rank, false)),
                   .up = TRY(Linear::load(reader, prefix + ".1", rank, out_features, false))};
  }

  /// Adds y to what `out` holds. Shapes: x [tokens, in_features], out [tokens, out_features].
  Status add(const Context& context, const Tensor& x, Tensor& out) const {
    Workspace& workspace = context.stream.workspace();
    const Workspace::Scope scope(workspace);
    Tensor middle = TRY(workspace.tensor(DType::kF32, {x.dim(0), down.weight.dim(0)}));
    TRY(down.forward(context, x, middle));
    return up.forward_add(context, middle, out);
  }
};

}  // namespace godwit
