// Kernels on rows of activations.

#include <cstring>
#include <limits>

#include "kernels/cpu/access.h"
#include "kernels/cpu/drivers.h"

namespace godwit::cpu {
namespace {

static_assert(kActivationKinds == kActivations);

/// NaN stays.
float clamped(float x, float limit) {
  return x < -limit ? -limit : x > limit ? limit : x;
}

/// A vector of weights as f32 plus `offset`: the tensor's own memory where it is that already.
Result<const float*> widened_vector(const IsaKernels& isa, Stream& stream, const Tensor& vector,
                                    float offset) {
  if (vector.dtype == DType::kF32 && offset == 0.0F) {
    return static_cast<const float*>(vector.data);
  }
  const std::int64_t width = vector.dim(0);
  auto* widened = TRY(take<float>(stream, width));
  widen(isa, vector.dtype, vector.data, widened, width);
  if (offset != 0.0F) {
    for (std::int64_t i = 0; i < width; ++i) {
      widened[i] += offset;
    }
  }
  return static_cast<const float*>(widened);
}

/// Calls task(x, out) for each row, or each head of each row.
template <class Task>
void for_rows_and_heads(Stream& stream, const Tensor& x, const Tensor& out, const Task& task) {
  const bool by_head = x.rank == 3;
  const std::int64_t heads = by_head ? x.dim(1) : 1;
  const std::int64_t width = x.dim(x.rank - 1);
  split(stream, x.dim(0) * heads, 2 * width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t head = i % heads;
      task(row_of<float>(x, i / heads) + (by_head ? head * x.stride(1) : 0),
           row_of<float>(out, i / heads) + (by_head ? head * out.stride(1) : 0));
    }
  });
}

/// Elements of a row that a thread takes at a time.
constexpr std::int64_t kPiece = 1024;

/// Calls task(row, from, count) for pieces of rows: columns are split too, so that a single row is
/// shared among the threads.
template <class Task>
void for_pieces(Stream& stream, const Tensor& out, const Task& task) {
  const std::int64_t width = out.dim(1);
  const std::int64_t pieces = (width + kPiece - 1) / kPiece;
  split(stream, out.dim(0) * pieces, 4 * std::min(width, kPiece),
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t from = i % pieces * kPiece;
            task(i / pieces, from, std::min(kPiece, width - from));
          }
        });
}

}  // namespace

Status embedding(const IsaKernels& isa, Stream& stream, const EmbeddingParams& params) {
  const std::int64_t width = params.out.dim(1);
  if (params.accumulate) {
    const Workspace::Scope scope(stream.workspace());
    EmbeddingParams rows = params;
    rows.accumulate = false;
    rows.out = TRY(stream.workspace().tensor(DType::kF32, {params.out.dim(0), width}));
    TRY(embedding(isa, stream, rows));
    return add(isa, stream, {.x = rows.out, .out = params.out});
  }
  split(stream, params.out.dim(0), width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t id = element<std::int32_t>(params.ids, t);
      auto* out = row_of<float>(params.out, t);
      if (id >= 0 && id < params.table.dim(0)) {
        widen(isa, params.table.dtype, row_at(params.table, id), out, width);
      } else {
        std::fill(out, out + width, 0.0F);
      }
    }
  });
  return {};
}

Status rms_norm(const IsaKernels& isa, Stream& stream, const RmsNormParams& params) {
  const Workspace::Scope scope(stream.workspace());
  const std::int64_t width = params.weight.dim(0);
  const float* weight = TRY(widened_vector(isa, stream, params.weight, params.weight_offset));
  for_rows_and_heads(stream, params.x, params.out, [&](const float* x, float* out) {
    isa.rows->rms_norm(x, weight, out, width, params.epsilon);
  });
  return {};
}

Status layer_norm(const IsaKernels& isa, Stream& stream, const LayerNormParams& params) {
  const Workspace::Scope scope(stream.workspace());
  const std::int64_t width = params.weight.dim(0);
  const float* weight = TRY(widened_vector(isa, stream, params.weight, params.weight_offset));
  const float* bias =
      params.bias.empty() ? nullptr : TRY(widened_vector(isa, stream, params.bias, 0.0F));
  for_rows_and_heads(stream, params.x, params.out, [&](const float* x, float* out) {
    isa.rows->layer_norm(x, weight, bias, out, width, params.epsilon);
  });
  return {};
}

Status activation(const IsaKernels& isa, Stream& stream, const ActivationParams& params) {
  const auto kernel = isa.rows->activation[static_cast<int>(params.activation)];
  for_pieces(stream, params.out, [&](std::int64_t row, std::int64_t from, std::int64_t count) {
    kernel(row_of<float>(params.x, row) + from, row_of<float>(params.out, row) + from, count);
  });
  return {};
}

Status gated_activation(const IsaKernels& isa, Stream& stream,
                        const GatedActivationParams& params) {
  const auto kernel = isa.rows->gated_activation[static_cast<int>(params.form.activation)];
  const GatedForm& form = params.form;
  const bool plain = form.limit == 0.0F && form.up_offset == 0.0F;
  for_pieces(stream, params.out, [&](std::int64_t row, std::int64_t from, std::int64_t count) {
    const float* gate = row_of<float>(params.gate, row) + from;
    const float* up = row_of<float>(params.up, row) + from;
    float* out = row_of<float>(params.out, row) + from;
    if (plain) {
      kernel(gate, up, out, count);
      return;
    }
    float gates[kPiece];
    float ups[kPiece];
    const float limit = form.limit > 0.0F ? form.limit : std::numeric_limits<float>::infinity();
    for (std::int64_t i = 0; i < count; ++i) {
      gates[i] = gate[i] > limit ? limit : gate[i];
      ups[i] = clamped(up[i], limit) + form.up_offset;
    }
    kernel(gates, ups, out, count);
  });
  return {};
}

Status add(const IsaKernels& isa, Stream& stream, const AddParams& params) {
  for_pieces(stream, params.out, [&](std::int64_t row, std::int64_t from, std::int64_t count) {
    isa.rows->add(row_of<float>(params.x, row) + from, params.scale,
                  row_of<float>(params.out, row) + from, count);
  });
  return {};
}

Status scale(const IsaKernels& isa, Stream& stream, const ScaleParams& params) {
  for_pieces(stream, params.out, [&](std::int64_t row, std::int64_t from, std::int64_t count) {
    isa.rows->scale(row_of<float>(params.x, row) + from, params.scale, params.softcap,
                    row_of<float>(params.out, row) + from, count);
  });
  return {};
}

Status clamp(const IsaKernels& /*isa*/, Stream& stream, const ClampParams& params) {
  for_pieces(stream, params.out, [&](std::int64_t row, std::int64_t from, std::int64_t count) {
    const float* x = row_of<float>(params.x, row) + from;
    float* out = row_of<float>(params.out, row) + from;
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = clamped(x[i], params.limit);
    }
  });
  return {};
}

Status gather_rows(const IsaKernels& /*isa*/, Stream& stream, const GatherRowsParams& params) {
  const std::int64_t width = params.out.dim(1);
  split(stream, params.out.dim(0), width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t row = element<std::int32_t>(params.rows, r);
      auto* out = row_of<float>(params.out, r);
      if (row >= 0 && row < params.x.dim(0)) {
        std::memcpy(out, row_of<float>(params.x, row),
                    static_cast<std::size_t>(width) * sizeof(float));
      } else {
        std::fill(out, out + width, 0.0F);
      }
    }
  });
  return {};
}

}  // namespace godwit::cpu
