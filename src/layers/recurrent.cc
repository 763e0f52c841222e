#include "layers/recurrent.h"

namespace godwit {
namespace {

Result<Recurrent> load_kind(WeightsReader& reader, const std::string& prefix,
                            const GatedDeltaNetConfig& config) {
  return Recurrent{TRY(GatedDeltaNet::load(reader, prefix, config))};
}
Result<Recurrent> load_kind(WeightsReader& reader, const std::string& prefix,
                            const KimiDeltaConfig& config) {
  return Recurrent{TRY(KimiDeltaAttention::load(reader, prefix, config))};
}
Result<Recurrent> load_kind(WeightsReader& reader, const std::string& prefix,
                            const LightningConfig& config) {
  return Recurrent{TRY(LightningAttention::load(reader, prefix, config))};
}
Result<Recurrent> load_kind(WeightsReader& reader, const std::string& prefix,
                            const Mamba1Config& config) {
  return Recurrent{TRY(Mamba1::load(reader, prefix, config))};
}
Result<Recurrent> load_kind(WeightsReader& reader, const std::string& prefix,
                            const Mamba2Config& config) {
  return Recurrent{TRY(Mamba2::load(reader, prefix, config))};
}

}  // namespace

RecurrentConfig at_layer(RecurrentConfig config, std::int64_t index) {
  std::visit([&](auto& kind) { kind.layer = index; }, config);
  return config;
}

LayerCacheSpec cache_spec_of(const RecurrentConfig& config) {
  return std::visit([](const auto& kind) { return cache_spec_of(kind); }, config);
}

Result<Recurrent> Recurrent::load(WeightsReader& reader, const std::string& prefix,
                                  const RecurrentConfig& config) {
  return std::visit([&](const auto& kind) { return load_kind(reader, prefix, kind); }, config);
}

Status Recurrent::forward(const Context& context, const Tensor& x, Tensor& out) const {
  const Workspace::Scope scope(context.stream.workspace());
  return std::visit(
      [&](const auto& layer) -> Status {
        return layer.out_proj.forward(context, TRY(layer.mix(context, x)), out);
      },
      kind);
}

Status Recurrent::forward_add(const Context& context, const Tensor& x, Tensor& out) const {
  const Workspace::Scope scope(context.stream.workspace());
  return std::visit(
      [&](const auto& layer) -> Status {
        return layer.out_proj.forward_add(context, TRY(layer.mix(context, x)), out);
      },
      kind);
}

}  // namespace godwit
