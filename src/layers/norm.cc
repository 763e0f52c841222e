#include "layers/norm.h"

namespace godwit {

Result<Norm> Norm::load(WeightsReader& reader, std::string_view name, std::int64_t width,
                        const NormConfig& config) {
  if (const auto* rms = std::get_if<RmsNormConfig>(&config)) {
    return Norm{TRY(RmsNorm::load(reader, name, width, *rms))};
  }
  auto layer = std::get<LayerNormConfig>(config);
  layer.width = width;
  return Norm{TRY(LayerNorm::load(reader, name, layer))};
}

Status Norm::forward(const Context& context, const Tensor& x, Tensor& out) const {
  return std::visit([&](const auto& norm) { return norm.forward(context, x, out); }, kind);
}

}  // namespace godwit
