// Recurrences. A thread walks all tokens of a sequence for a head (or some of its columns) or a
// channel, on a copy of its state, so results do not depend on how the work is split, and a state
// may be saved where it came from.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/access.h"
#include "kernels/cpu/drivers.h"

namespace godwit::cpu {
namespace {

/// Calls walk(begin, end) for the tokens of one sequence up to each save, and save(place) there.
template <class Walk, class Save>
void walk_sequence(const Tensor& query_start, const StateTables& tables, std::int64_t sequence,
                   const Walk& walk, const Save& save) {
  std::int64_t begin = element<std::int32_t>(query_start, sequence);
  const std::int32_t last = element<std::int32_t>(tables.save_start, sequence + 1);
  for (std::int32_t i = element<std::int32_t>(tables.save_start, sequence); i < last; ++i) {
    const std::int64_t end = element<std::int32_t>(tables.save_ends, i);
    walk(begin, end);
    begin = end;
    save(element<std::int32_t>(tables.save_places, i));
  }
}

/// Calls task(unit, scratch) for each of `units`, with `scratch_each` floats a thread.
template <class Task>
Status for_units(Stream& stream, std::int64_t units, std::int64_t elements,
                 std::int64_t scratch_each, const Task& task) {
  constexpr std::int64_t kWorthwhile = 8192;
  const Workspace::Scope scope(stream.workspace());
  ThreadPool& threads = threads_of(stream);
  const std::int64_t team = elements < kWorthwhile ? 1 : threads.size();
  auto* scratch = TRY(take<float>(stream, scratch_each * team));
  const auto part = [&](int thread) {
    for (std::int64_t unit = units * thread / team; unit < units * (thread + 1) / team; ++unit) {
      task(unit, scratch + thread * scratch_each);
    }
  };
  if (team == 1) {
    part(0);
  } else {
    threads.run(part);
  }
  return {};
}

float softplus(float x) {
  return x > 20.0F ? x : std::log1p(std::exp(x));
}

/// Some columns of a head, and the walk of one sequence through them.
class HeadTask {
 public:
  HeadTask(const IsaKernels& isa, const LinearRecurrenceParams& params, std::int64_t head,
           std::int64_t first, float* state)
      : isa_(isa),
        params_(params),
        head_(head),
        first_(first),
        columns_(std::min(kHeadColumns, params.v.dim(2) - first)),
        state_(state) {}

  void run(std::int64_t sequence) {
    load(element<std::int32_t>(params_.tables.sources, sequence));
    walk_sequence(
        params_.query_start, params_.tables, sequence,
        [&](std::int64_t begin, std::int64_t end) { isa_.scan->head(item(begin, end)); },
        [&](std::int32_t place) { save(place); });
  }

 private:
  [[nodiscard]] HeadItem item(std::int64_t begin, std::int64_t end) const {
    const std::int64_t group = params_.v.dim(1) / params_.k.dim(1);
    const bool each_row = params_.decay.rank == 3;
    const bool has_gain = !params_.gain.empty();
    return {.q = row_of<float>(params_.q, begin) + head_ / group * params_.q.stride(1),
            .q_stride = params_.q.stride(0),
            .k = row_of<float>(params_.k, begin) + head_ / group * params_.k.stride(1),
            .k_stride = params_.k.stride(0),
            .v = row_of<float>(params_.v, begin) + head_ * params_.v.stride(1) + first_,
            .v_stride = params_.v.stride(0),
            .decay = row_of<float>(params_.decay, begin) + head_ * params_.decay.stride(1),
            .decay_stride = params_.decay.stride(0),
            .decay_each_row = each_row,
            .gain = has_gain ? row_of<float>(params_.gain, begin) + head_ * params_.gain.stride(1)
                             : nullptr,
            .gain_stride = has_gain ? params_.gain.stride(0) : 0,
            .skip = params_.skip.empty() ? 0.0F : element<float>(params_.skip, head_),
            .delta_rule = params_.delta_rule,
            .out = row_of<float>(params_.out, begin) + head_ * params_.out.stride(1) + first_,
            .out_stride = params_.out.stride(0),
            .tokens = end - begin,
            .rows = params_.k.dim(2),
            .columns = columns_,
            .state = state_};
  }

  [[nodiscard]] float* stored(std::int32_t place, std::int64_t row) const {
    return row_of<float>(params_.states, place) + head_ * params_.states.stride(1) +
           row * params_.states.stride(2) + first_;
  }

  void load(std::int32_t place) {
    if (place < 0 || columns_ % 16 != 0) {  // Lanes past the last column are walked too.
      std::fill_n(state_, params_.k.dim(2) * kHeadColumns, 0.0F);
    }
    for (std::int64_t r = 0; place >= 0 && r < params_.k.dim(2); ++r) {
      std::copy_n(stored(place, r), columns_, state_ + r * kHeadColumns);
    }
  }

  void save(std::int32_t place) const {
    for (std::int64_t r = 0; r < params_.k.dim(2); ++r) {
      std::copy_n(state_ + r * kHeadColumns, columns_, stored(place, r));
    }
  }

  const IsaKernels& isa_;
  const LinearRecurrenceParams& params_;
  std::int64_t head_;
  std::int64_t first_;  // Column.
  std::int64_t columns_;
  float* state_;
};

/// One channel of one sequence. `state` is scratch.
void run_channel(const IsaKernels& isa, const SelectiveScanParams& params, std::int64_t channel,
                 std::int64_t sequence, float* state) {
  const std::int64_t size = params.rate.dim(1);
  const auto stored = [&](std::int32_t place) {
    return row_of<float>(params.states, place) + channel * params.states.stride(1);
  };
  const std::int32_t source = element<std::int32_t>(params.tables.sources, sequence);
  std::fill_n(state, (size + 15) / 16 * 16, 0.0F);
  if (source >= 0) {
    std::copy_n(stored(source), size, state);
  }
  walk_sequence(
      params.query_start, params.tables, sequence,
      [&](std::int64_t begin, std::int64_t end) {
        isa.scan->channel({.x = row_of<float>(params.x, begin) + channel,
                           .x_stride = params.x.stride(0),
                           .step = row_of<float>(params.step, begin) + channel,
                           .step_stride = params.step.stride(0),
                           .rate = row_of<float>(params.rate, channel),
                           .b = row_of<float>(params.b, begin),
                           .b_stride = params.b.stride(0),
                           .c = row_of<float>(params.c, begin),
                           .c_stride = params.c.stride(0),
                           .skip = element<float>(params.skip, channel),
                           .out = row_of<float>(params.out, begin) + channel,
                           .out_stride = params.out.stride(0),
                           .tokens = end - begin,
                           .size = size,
                           .state = state});
      },
      [&](std::int32_t place) { std::copy_n(state, size, stored(place)); });
}

}  // namespace

Status step_size(const IsaKernels& /*isa*/, Stream& stream, const StepSizeParams& params) {
  constexpr std::int64_t kCost = 16;  // Of an exponential and a logarithm, in elements of memory.
  const std::int64_t width = params.x.dim(1);
  split(stream, params.x.dim(0), kCost * width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      for (std::int64_t i = 0; i < width; ++i) {
        const float x = row_of<float>(params.x, t)[i] + element<float>(params.bias, i);
        const float step = std::clamp(softplus(x), params.lowest, params.highest);
        if (!params.decay.empty()) {
          row_of<float>(params.decay, t)[i] = std::exp(step * element<float>(params.rate, i));
        }
        if (!params.step.empty()) {
          row_of<float>(params.step, t)[i] = step;
        }
      }
    }
  });
  return {};
}

Status selective_scan(const IsaKernels& isa, Stream& stream, const SelectiveScanParams& params) {
  const std::int64_t sequences = params.query_start.dim(0) - 1;
  const std::int64_t channels = params.x.dim(1);
  const std::int64_t size = params.rate.dim(1);
  // Sequences are innermost: some are longer than others.
  return for_units(stream, channels * sequences, params.x.dim(0) * channels * size,
                   (size + 15) / 16 * 16, [&](std::int64_t unit, float* state) {
                     run_channel(isa, params, unit / sequences, unit % sequences, state);
                   });
}

Status linear_recurrence(const IsaKernels& isa, Stream& stream,
                         const LinearRecurrenceParams& params) {
  const std::int64_t sequences = params.query_start.dim(0) - 1;
  const std::int64_t heads = params.v.dim(1);
  const std::int64_t rows = params.k.dim(2);
  const std::int64_t parts = (params.v.dim(2) + kHeadColumns - 1) / kHeadColumns;
  return for_units(stream, heads * parts * sequences,
                   params.v.dim(0) * heads * rows * params.v.dim(2), rows * kHeadColumns,
                   [&](std::int64_t unit, float* state) {
                     const std::int64_t part = unit / sequences;
                     HeadTask(isa, params, part / parts, part % parts * kHeadColumns, state)
                         .run(unit % sequences);
                   });
}

}  // namespace godwit::cpu
