// Routing, experts and their weighted sum. Experts run one after the other, each on the rows of the
// tokens that chose it; all threads share the columns of its matrices.

#include <cstring>

#include "kernels/cpu/access.h"
#include "kernels/cpu/drivers.h"
#include "kernels/route_row.h"

namespace godwit::cpu {
namespace {

/// The slots of each expert, in order: a counting sort.
struct SlotsByExpert {
  std::int64_t* slots;   ///< token * top_k + slot; those of expert e at [starts[e], starts[e + 1]).
  std::int64_t* starts;  ///< [experts + 1]
  std::int64_t most;     ///< Slots of the expert that has most.
};

Result<SlotsByExpert> sort_slots(Stream& stream, const Tensor& ids, std::int64_t experts) {
  const std::int64_t top_k = ids.dim(1);
  const std::int64_t count = ids.dim(0) * top_k;
  const auto expert_of = [&](std::int64_t slot) -> std::int64_t {
    const std::int64_t id = row_of<std::int32_t>(ids, slot / top_k)[slot % top_k];
    return id < experts ? id : -1;
  };
  SlotsByExpert sorted = {.slots = TRY(take<std::int64_t>(stream, count)),
                          .starts = TRY(take<std::int64_t>(stream, experts + 2)),
                          .most = 0};
  // Counts are kept two places on, so that filling leaves the starts where they belong.
  std::fill_n(sorted.starts, experts + 2, std::int64_t{0});
  for (std::int64_t slot = 0; slot < count; ++slot) {
    if (const std::int64_t e = expert_of(slot); e >= 0) {
      sorted.most = std::max(sorted.most, ++sorted.starts[e + 2]);
    }
  }
  for (std::int64_t e = 0; e < experts; ++e) {
    sorted.starts[e + 2] += sorted.starts[e + 1];
  }
  for (std::int64_t slot = 0; slot < count; ++slot) {
    if (const std::int64_t e = expert_of(slot); e >= 0) {
      sorted.slots[sorted.starts[e + 1]++] = slot;
    }
  }
  return sorted;
}

/// What one expert works in.
struct ExpertRows {
  Tensor x;
  Tensor gate;
  Tensor up;
  Tensor out;

  [[nodiscard]] ExpertRows first(std::int64_t rows) const {
    return {.x = x.slice(0, 0, rows),
            .gate = gate.slice(0, 0, rows),
            .up = up.slice(0, 0, rows),
            .out = out.slice(0, 0, rows)};
  }
};

Result<ExpertRows> take_rows(Stream& stream, const ExpertsParams& params, std::int64_t rows) {
  Workspace& workspace = stream.workspace();
  const std::int64_t hidden = params.x.dim(1);
  const std::int64_t width = params.up.dim(1);
  return ExpertRows{.x = TRY(workspace.tensor(DType::kF32, {rows, hidden})),
                    .gate = TRY(workspace.tensor(DType::kF32, {rows, width})),
                    .up = TRY(workspace.tensor(DType::kF32, {rows, width})),
                    .out = TRY(workspace.tensor(DType::kF32, {rows, hidden}))};
}

/// Copies the rows of x that `slots` name, times their factors.
void gather(const IsaKernels& isa, Stream& stream, const ExpertsParams& params,
            const std::int64_t* slots, const Tensor& x) {
  const std::int64_t top_k = params.ids.dim(1);
  const std::int64_t hidden = x.dim(1);
  split(stream, x.dim(0), 2 * hidden, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t token = slots[r] / top_k;
      const float* from = row_of<float>(params.x, token);
      if (params.x_weights.empty()) {
        std::memcpy(row_of<float>(x, r), from, static_cast<std::size_t>(hidden) * sizeof(float));
      } else {
        isa.rows->scale(from, row_of<float>(params.x_weights, token)[slots[r] % top_k], 0.0F,
                        row_of<float>(x, r), hidden);
      }
    }
  });
}

void scatter(Stream& stream, const ExpertsParams& params, const std::int64_t* slots,
             const Tensor& rows) {
  const std::int64_t top_k = params.ids.dim(1);
  const std::int64_t hidden = rows.dim(1);
  split(stream, rows.dim(0), 2 * hidden, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      std::memcpy(
          row_of<float>(params.out, slots[r] / top_k) + slots[r] % top_k * params.out.stride(1),
          row_of<float>(rows, r), static_cast<std::size_t>(hidden) * sizeof(float));
    }
  });
}

Status run_expert(const IsaKernels& isa, Stream& stream, const ExpertsParams& params,
                  std::int64_t expert, const ExpertRows& rows) {
  const auto multiply = [&](const Tensor& x, const Tensor& weight, const Tensor& bias,
                            const Tensor& out) {
    return gemm(isa, stream,
                {.x = x,
                 .weight = weight.entry(expert),
                 .bias = bias.empty() ? Tensor() : bias.entry(expert),
                 .out = out,
                 .precision = params.precision});
  };
  TRY(multiply(rows.x, params.up, params.up_bias, rows.up));
  if (params.gate.empty()) {
    TRY(activation(isa, stream,
                   {.x = rows.up, .out = rows.up, .activation = params.form.activation}));
  } else {
    TRY(multiply(rows.x, params.gate, params.gate_bias, rows.gate));
    TRY(gated_activation(isa, stream,
                         {.gate = rows.gate, .up = rows.up, .out = rows.up, .form = params.form}));
  }
  return multiply(rows.up, params.down, params.down_bias, rows.out);
}

/// A vector as f32, in the workspace of the caller's scope; nothing for an empty one.
Result<std::span<const float>> widened_row(const IsaKernels& isa, Stream& stream,
                                           const Tensor& vector) {
  if (vector.empty()) {
    return std::span<const float>();
  }
  const std::int64_t count = vector.dim(0);
  auto* widened = TRY(take<float>(stream, count));
  widen(isa, vector.dtype, vector.data, widened, count);
  return std::span<const float>(widened, static_cast<std::size_t>(count));
}

}  // namespace

Status route(const IsaKernels& isa, Stream& stream, const RouteParams& params) {
  const Workspace::Scope scope(stream.workspace());
  const std::int64_t experts = params.logits.dim(1);
  const auto top_k = static_cast<std::size_t>(params.ids.dim(1));
  const std::span<const float> bias = TRY(widened_row(isa, stream, params.bias));
  const std::span<const float> factors = TRY(widened_row(isa, stream, params.factors));
  split(stream, params.logits.dim(0), 32 * experts, [&](std::int64_t begin, std::int64_t end) {
    RowRouter router(params.rule, experts, bias, factors);
    for (std::int64_t t = begin; t < end; ++t) {
      const std::span<std::int32_t> ids(row_of<std::int32_t>(params.ids, t), top_k);
      const std::span<float> weights(row_of<float>(params.weights, t), top_k);
      if (params.table.empty()) {
        router.choose(row_of<float>(params.logits, t), ids, weights);
        continue;
      }
      const std::int64_t token = element<std::int32_t>(params.tokens, t);
      if (token >= 0 && token < params.table.dim(0)) {
        std::copy_n(row_of<std::int32_t>(params.table, token), top_k, ids.begin());
      } else {
        std::ranges::fill(ids, -1);
      }
      router.weigh(row_of<float>(params.logits, t), ids, weights);
    }
  });
  return {};
}

Status experts(const IsaKernels& isa, Stream& stream, const ExpertsParams& params) {
  const Workspace::Scope scope(stream.workspace());
  const std::int64_t count = params.up.dim(0);
  const SlotsByExpert sorted = TRY(sort_slots(stream, params.ids, count));
  if (sorted.most == 0) {
    return {};
  }
  const ExpertRows memory = TRY(take_rows(stream, params, sorted.most));
  for (std::int64_t e = 0; e < count; ++e) {
    const std::int64_t chosen = sorted.starts[e + 1] - sorted.starts[e];
    if (chosen > 0) {
      const std::int64_t* slots = sorted.slots + sorted.starts[e];
      const ExpertRows rows = memory.first(chosen);
      gather(isa, stream, params, slots, rows.x);
      TRY(run_expert(isa, stream, params, e, rows));
      scatter(stream, params, slots, rows.out);
    }
  }
  return {};
}

Status combine_experts(const IsaKernels& isa, Stream& stream, const CombineExpertsParams& params) {
  const std::int64_t hidden = params.out.dim(1);
  const std::int64_t top_k = params.ids.dim(1);
  split(stream, params.out.dim(0), (top_k + 1) * hidden, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      float* out = row_of<float>(params.out, t);
      if (!params.accumulate) {
        std::fill_n(out, hidden, 0.0F);
      }
      for (std::int64_t slot = 0; slot < top_k; ++slot) {
        const std::int32_t id = row_of<std::int32_t>(params.ids, t)[slot];
        if (id >= 0) {
          const bool identity = !params.x.empty() && id >= params.num_experts;
          isa.rows->add(identity ? row_of<float>(params.x, t)
                                 : row_of<float>(params.rows, t) + slot * params.rows.stride(1),
                        params.weights.empty() ? 1.0F : row_of<float>(params.weights, t)[slot], out,
                        hidden);
        }
      }
    }
  });
  return {};
}

}  // namespace godwit::cpu
