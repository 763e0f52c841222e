// Routing, experts and their weighted sum. The rows of the tokens that chose an expert lie
// together; the products of all chosen experts are computed as one, so that few rows wake the
// threads once.

#include <cstring>
#include <vector>

#include "kernels/cpu/access.h"
#include "kernels/cpu/drivers.h"
#include "kernels/cpu/ready_gemm.h"
#include "kernels/route_row.h"

namespace godwit::cpu {
namespace {

/// The slots of each expert, in order: a counting sort.
struct SlotsByExpert {
  std::int64_t* slots;   ///< token * top_k + slot; those of expert e at [starts[e], starts[e + 1]).
  std::int64_t* starts;  ///< [experts + 1]
  std::int64_t experts;

  /// Slots that have an expert.
  [[nodiscard]] std::int64_t count() const { return starts[experts]; }
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
                          .experts = experts};
  // Counts are kept two places on, so that filling leaves the starts where they belong.
  std::fill_n(sorted.starts, experts + 2, std::int64_t{0});
  for (std::int64_t slot = 0; slot < count; ++slot) {
    if (const std::int64_t e = expert_of(slot); e >= 0) {
      ++sorted.starts[e + 2];
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

/// One of an expert's linear maps.
struct ExpertMap {
  const Tensor& weight;  ///< [experts, n, k]
  const Tensor& bias;    ///< [experts, n], or empty
  const Tensor& out;     ///< Rows by expert, as their input.
};

/// Applies maps of one weight type to the rows of x, which lie as `sorted` says.
Status apply(const IsaKernels& isa, Stream& stream, const SlotsByExpert& sorted, const Tensor& x,
             Precision precision, std::span<const ExpertMap> maps) {
  const Workspace::Scope scope(stream.workspace());
  std::vector<ReadyGemm> products;
  for (std::int64_t e = 0; e < sorted.experts; ++e) {
    for (std::int64_t first = sorted.starts[e]; first < sorted.starts[e + 1]; first += kGemmRows) {
      const std::int64_t rows = std::min(kGemmRows, sorted.starts[e + 1] - first);
      const Tensor part = x.slice(0, first, rows);
      GemmInputs inputs;
      for (const ExpertMap& map : maps) {
        if (inputs.x.empty() || inputs.weight != map.weight.dtype) {
          inputs = TRY(convert_inputs(isa, stream, part, map.weight.dtype, precision));
        }
        products.push_back(TRY(ready_gemm(isa, stream, inputs,
                                          {.x = part,
                                           .weight = map.weight.entry(e),
                                           .bias = map.bias.empty() ? Tensor() : map.bias.entry(e),
                                           .out = map.out.slice(0, first, rows),
                                           .precision = precision})));
      }
    }
  }
  return run_gemms(stream, products);
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
  Workspace& workspace = stream.workspace();
  const Workspace::Scope scope(workspace);
  const SlotsByExpert sorted = TRY(sort_slots(stream, params.ids, params.up.dim(0)));
  const std::int64_t rows = sorted.count();
  if (rows == 0) {
    return {};
  }
  // The inputs' memory takes the results too.
  const Tensor x = TRY(workspace.tensor(DType::kF32, {rows, params.x.dim(1)}));
  const Tensor up = TRY(workspace.tensor(DType::kF32, {rows, params.up.dim(1)}));
  gather(isa, stream, params, sorted.slots, x);
  const ExpertMap up_map = {.weight = params.up, .bias = params.up_bias, .out = up};
  if (params.gate.empty()) {
    TRY(apply(isa, stream, sorted, x, params.precision, {&up_map, 1}));
    TRY(activation(isa, stream, {.x = up, .out = up, .activation = params.form.activation}));
  } else {
    const Tensor gate = TRY(workspace.tensor(DType::kF32, {rows, params.up.dim(1)}));
    const ExpertMap maps[] = {{.weight = params.gate, .bias = params.gate_bias, .out = gate},
                              up_map};
    TRY(apply(isa, stream, sorted, x, params.precision, maps));
    TRY(gated_activation(isa, stream, {.gate = gate, .up = up, .out = up, .form = params.form}));
  }
  const ExpertMap down_map = {.weight = params.down, .bias = params.down_bias, .out = x};
  TRY(apply(isa, stream, sorted, up, params.precision, {&down_map, 1}));
  scatter(stream, params, sorted.slots, x);
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
