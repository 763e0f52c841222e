#include "kernels/cpu/weight_filter.h"

#include <algorithm>
#include <cstring>

namespace godwit::cpu {
namespace {

constexpr std::int64_t kBins = 2048;

/// Rises with the weight; 1.0 is in bin 2032.
std::int64_t bin_of(float weight) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &weight, sizeof(bits));
  return bits >> 19;
}

}  // namespace

std::int64_t WeightFilter::scratch_bytes(std::int64_t count) {
  return kBins * static_cast<std::int64_t>(sizeof(Bin)) + 8 * (count + 15) / 16 * 16;
}

WeightFilter::WeightFilter(void* scratch, std::int64_t count)
    : count_(count),
      bins_(static_cast<Bin*>(scratch)),
      weights_(reinterpret_cast<float*>(bins_ + kBins)),
      places_(reinterpret_cast<std::int32_t*>(weights_ + count)) {}

void WeightFilter::drop_below(double fraction) {
  if (!(fraction > 0.0)) {
    return;
  }
  for (std::int64_t i = 0; i < count_; ++i) {
    weights_[i] = static_cast<double>(weights_[i]) < fraction ? 0.0F : weights_[i];
  }
}

void WeightFilter::keep_largest(std::int64_t k) {
  if (k <= 0 || k >= count_) {
    return;
  }
  fill_bins();
  std::int64_t bin = kBins - 1;
  for (; bin > 0 && bins_[bin].count < k; --bin) {
    k -= bins_[bin].count;
  }
  if (bin == 0) {  // What is left are zeros, or too small to tell from them.
    k = std::min(k, bins_[bin].count);
  }
  const std::int64_t listed = list_bin(bin);
  std::nth_element(places_, places_ + k - 1, places_ + listed, [&](std::int32_t a, std::int32_t b) {
    return weights_[a] != weights_[b] ? weights_[a] > weights_[b] : a < b;
  });
  cut(bin, k, listed);
}

void WeightFilter::keep_mass(double fraction) {
  if (!(fraction < 1.0)) {
    return;
  }
  fill_bins();
  double total = 0.0;
  for (std::int64_t bin = 0; bin < kBins; ++bin) {
    total += bins_[bin].sum;
  }
  const double target = fraction * total;
  double sum = 0.0;
  std::int64_t bin = kBins - 1;
  while (bin > 0 && (bins_[bin].count == 0 || sum + bins_[bin].sum < target)) {
    sum += bins_[bin].sum;
    --bin;
  }
  const std::int64_t listed = list_bin(bin);
  std::sort(places_, places_ + listed, [&](std::int32_t a, std::int32_t b) {
    return weights_[a] != weights_[b] ? weights_[a] > weights_[b] : a < b;
  });
  std::int64_t kept = 0;
  for (; kept < listed && (sum < target || sum == 0.0); ++kept) {
    sum += static_cast<double>(weights_[places_[kept]]);
  }
  cut(bin, kept, listed);
}

void WeightFilter::fill_bins() {
  std::memset(static_cast<void*>(bins_), 0, static_cast<std::size_t>(kBins) * sizeof(Bin));
  for (std::int64_t i = 0; i < count_; ++i) {
    Bin& bin = bins_[bin_of(weights_[i])];
    bin.sum += static_cast<double>(weights_[i]);
    ++bin.count;
  }
}

std::int64_t WeightFilter::list_bin(std::int64_t bin) {
  std::int64_t listed = 0;
  for (std::int64_t i = 0; i < count_; ++i) {
    if (bin_of(weights_[i]) == bin) {
      places_[listed++] = static_cast<std::int32_t>(i);
    }
  }
  return listed;
}

void WeightFilter::cut(std::int64_t bin, std::int64_t kept, std::int64_t listed) {
  for (std::int64_t i = kept; i < listed; ++i) {
    weights_[places_[i]] = 0.0F;
  }
  for (std::int64_t i = 0; i < count_; ++i) {
    weights_[i] = bin_of(weights_[i]) < bin ? 0.0F : weights_[i];
  }
}

}  // namespace godwit::cpu
