#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ref/element.h"
#include "kernels/ref/ref_kernels.h"

namespace godwit::ref {
namespace {

double number(const float* from, std::int64_t i) {
  return static_cast<double>(from[i]);
}

/// The row of head `head` of token `t`.
float* head_row(const Tensor& tensor, std::int64_t t, std::int64_t head) {
  return float_row(tensor, t) + head * tensor.stride(1);
}

/// Calls step(t) for each token of a sequence and save(place) where its state is kept.
template <class Step, class Save>
void walk(const Tensor& query_start, const StateTables& tables, std::int64_t sequence,
          const Step& step, const Save& save) {
  std::int64_t t = at<std::int32_t>(query_start, sequence);
  for (std::int64_t i = at<std::int32_t>(tables.save_start, sequence);
       i < at<std::int32_t>(tables.save_start, sequence + 1); ++i) {
    for (; t < at<std::int32_t>(tables.save_ends, i); ++t) {
      step(t);
    }
    save(at<std::int32_t>(tables.save_places, i));
  }
}

/// One head's state, row by row, in double precision.
class Head {
 public:
  Head(const LinearRecurrenceParams& params, std::int64_t head)
      : params_(params),
        head_(head),
        key_head_(head / (params.v.dim(1) / params.k.dim(1))),
        rows_(params.k.dim(2)),
        columns_(params.v.dim(2)),
        state_(static_cast<std::size_t>(rows_ * columns_)) {}

  void load(std::int32_t place) {
    for (std::int64_t r = 0; r < rows_; ++r) {
      for (std::int64_t c = 0; c < columns_; ++c) {
        at(r, c) = place < 0 ? 0.0 : number(stored(place, r), c);
      }
    }
  }
  void save(std::int32_t place) {
    for (std::int64_t r = 0; r < rows_; ++r) {
      for (std::int64_t c = 0; c < columns_; ++c) {
        stored(place, r)[c] = static_cast<float>(at(r, c));
      }
    }
  }
  void step(std::int64_t t) {
    const float* k = head_row(params_.k, t, key_head_);
    const float* q = head_row(params_.q, t, key_head_);
    const bool each_row = params_.decay.rank == 3;
    const float* decay = head_row(params_.decay, t, head_);
    const double gain = params_.gain.empty() ? 1.0 : number(head_row(params_.gain, t, head_), 0);
    for (std::int64_t c = 0; c < columns_; ++c) {
      const double v = number(head_row(params_.v, t, head_), c);
      double found = 0.0;
      for (std::int64_t r = 0; r < rows_; ++r) {
        at(r, c) *= number(decay, each_row ? r : 0);
        found += at(r, c) * number(k, r);
      }
      const double update = gain * (params_.delta_rule ? v - found : v);
      double out = params_.skip.empty() ? 0.0 : number(float_row(params_.skip, head_), 0) * v;
      for (std::int64_t r = 0; r < rows_; ++r) {
        at(r, c) += number(k, r) * update;
        out += at(r, c) * number(q, r);
      }
      head_row(params_.out, t, head_)[c] = static_cast<float>(out);
    }
  }

 private:
  double& at(std::int64_t row, std::int64_t column) {
    return state_[static_cast<std::size_t>(row * columns_ + column)];
  }
  [[nodiscard]] float* stored(std::int32_t place, std::int64_t row) const {
    return head_row(params_.states, place, head_) + row * params_.states.stride(2);
  }

  const LinearRecurrenceParams& params_;
  std::int64_t head_;
  std::int64_t key_head_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<double> state_;
};

void scan_channel(const SelectiveScanParams& params, std::int64_t s, std::int64_t channel) {
  const std::int64_t size = params.rate.dim(1);
  std::vector<double> state(static_cast<std::size_t>(size), 0.0);
  const auto source = at<std::int32_t>(params.tables.sources, s);
  for (std::int64_t i = 0; source >= 0 && i < size; ++i) {
    state[static_cast<std::size_t>(i)] = number(head_row(params.states, source, channel), i);
  }
  walk(
      params.query_start, params.tables, s,
      [&](std::int64_t t) {
        const double x = number(float_row(params.x, t), channel);
        const double step = number(float_row(params.step, t), channel);
        double out = number(float_row(params.skip, channel), 0) * x;
        for (std::int64_t i = 0; i < size; ++i) {
          double& h = state[static_cast<std::size_t>(i)];
          h = std::exp(step * number(float_row(params.rate, channel), i)) * h +
              step * x * number(float_row(params.b, t), i);
          out += h * number(float_row(params.c, t), i);
        }
        float_row(params.out, t)[channel] = static_cast<float>(out);
      },
      [&](std::int32_t place) {
        for (std::int64_t i = 0; i < size; ++i) {
          head_row(params.states, place, channel)[i] =
              static_cast<float>(state[static_cast<std::size_t>(i)]);
        }
      });
}

}  // namespace

Status step_size(Stream& /*stream*/, const StepSizeParams& params) {
  for (std::int64_t t = 0; t < params.x.dim(0); ++t) {
    for (std::int64_t i = 0; i < params.x.dim(1); ++i) {
      const double x = number(float_row(params.x, t), i) + number(float_row(params.bias, i), 0);
      const double softplus = x > 20.0 ? x : std::log1p(std::exp(x));
      const double step = std::clamp(softplus, static_cast<double>(params.lowest),
                                     static_cast<double>(params.highest));
      if (!params.decay.empty()) {
        float_row(params.decay, t)[i] =
            static_cast<float>(std::exp(step * number(float_row(params.rate, i), 0)));
      }
      if (!params.step.empty()) {
        float_row(params.step, t)[i] = static_cast<float>(step);
      }
    }
  }
  return {};
}

Status selective_scan(Stream& /*stream*/, const SelectiveScanParams& params) {
  for (std::int64_t s = 0; s + 1 < params.query_start.dim(0); ++s) {
    for (std::int64_t channel = 0; channel < params.x.dim(1); ++channel) {
      scan_channel(params, s, channel);
    }
  }
  return {};
}

Status linear_recurrence(Stream& /*stream*/, const LinearRecurrenceParams& params) {
  for (std::int64_t h = 0; h < params.v.dim(1); ++h) {
    Head head(params, h);
    for (std::int64_t s = 0; s + 1 < params.query_start.dim(0); ++s) {
      head.load(at<std::int32_t>(params.tables.sources, s));
      walk(
          params.query_start, params.tables, s, [&](std::int64_t t) { head.step(t); },
          [&](std::int32_t place) { head.save(place); });
    }
  }
  return {};
}

}  // namespace godwit::ref
