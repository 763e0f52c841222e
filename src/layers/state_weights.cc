#include "layers/state_weights.h"

#include <cmath>
#include <span>

#include "ops/dense.h"

namespace godwit {

Result<std::vector<float>> read_finite(WeightsReader& reader, const std::string& name,
                                       std::initializer_list<std::int64_t> shape) {
  const Tensor stored = TRY(reader.read(name, shape, WeightKind::kVector));
  const std::int64_t count = stored.elements();
  // Widened as the only entry of a table of embeddings.
  const Tensor ids = TRY(reader.allocate(DType::kI32, {1}));
  const Tensor wide = TRY(reader.allocate(DType::kF32, {1, count}));
  TRY(ops::embedding(reader.stream(),
                     {.table = stored.reshape({1, count}), .ids = ids, .out = wide}));
  std::vector<float> numbers(static_cast<std::size_t>(count));
  TRY(reader.stream().copy_out(std::as_writable_bytes(std::span(numbers)), wide.data));
  TRY(reader.stream().synchronize());
  for (const float number : numbers) {
    if (!std::isfinite(number)) {
      return invalid_argument(
          name + " holds " + std::to_string(number) + ", after which no state would be a number",
          "the file is damaged; fetch it again");
    }
  }
  return numbers;
}

Result<std::vector<float>> read_rates(WeightsReader& reader, const std::string& name,
                                      std::initializer_list<std::int64_t> shape) {
  std::vector<float> rates = TRY(read_finite(reader, name, shape));
  for (float& rate : rates) {
    const float log = rate;
    rate = -std::exp(log);
    if (!std::isfinite(rate)) {
      return invalid_argument(
          name + " holds " + std::to_string(log) + ", the logarithm of no rate that f32 can hold",
          "the file is damaged; fetch it again");
    }
  }
  return rates;
}

Result<Tensor> keep(WeightsReader& reader, const std::vector<float>& numbers,
                    std::initializer_list<std::int64_t> shape) {
  const Tensor tensor = TRY(reader.allocate(DType::kF32, shape));
  CHECK_EQ(tensor.elements(), static_cast<std::int64_t>(numbers.size()));
  TRY(reader.stream().copy_in(tensor.data, std::as_bytes(std::span(numbers))));
  TRY(reader.stream().synchronize());
  return tensor;
}

Result<Tensor> keep_finite(WeightsReader& reader, const std::string& name,
                           std::initializer_list<std::int64_t> shape) {
  const std::vector<float> numbers = TRY(read_finite(reader, name, shape));
  return keep(reader, numbers, shape);
}

Result<Tensor> keep_rates(WeightsReader& reader, const std::string& name,
                          std::initializer_list<std::int64_t> shape) {
  const std::vector<float> rates = TRY(read_rates(reader, name, shape));
  return keep(reader, rates, shape);
}

Result<Tensor> read_conv(WeightsReader& reader, const std::string& name, std::int64_t channels,
                         std::int64_t taps) {
  const Tensor stored =
      TRY(reader.read(name + ".weight", {channels, 1, taps}, WeightKind::kVector));
  return stored.reshape({channels, taps});
}

}  // namespace godwit
