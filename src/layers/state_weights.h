#pragma once
// The small weights of recurrent layers, which are computed with at load: rates of decay, biases of
// steps, convolutions stored in parts.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"
#include "weights/weights_reader.h"

namespace godwit {

/// Reads a vector, or a small tensor of any shape, as numbers. Errors: as WeightsReader::read();
/// kInvalidArgument when one is NaN or infinite: a state would never be a number again.
Result<std::vector<float>> read_finite(WeightsReader& reader, const std::string& name,
                                       std::initializer_list<std::int64_t> shape);

/// Reads logarithms of rates of decay, as -exp(log). Errors: as read_finite(), and kInvalidArgument
/// when a rate is infinite.
Result<std::vector<float>> read_rates(WeightsReader& reader, const std::string& name,
                                      std::initializer_list<std::int64_t> shape);

/// The numbers as f32 weights of this shape.
Result<Tensor> keep(WeightsReader& reader, const std::vector<float>& numbers,
                    std::initializer_list<std::int64_t> shape);

/// What read_finite() and read_rates() read, as f32 weights.
Result<Tensor> keep_finite(WeightsReader& reader, const std::string& name,
                           std::initializer_list<std::int64_t> shape);
Result<Tensor> keep_rates(WeightsReader& reader, const std::string& name,
                          std::initializer_list<std::int64_t> shape);

/// Reads `name`.weight, stored as [channels, 1, taps].
Result<Tensor> read_conv(WeightsReader& reader, const std::string& name, std::int64_t channels,
                         std::int64_t taps);

}  // namespace godwit
