#pragma once
// What the runner knows of a model.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "kv/kv_cache_spec.h"
#include "layers/context.h"
#include "weights/weights_reader.h"

namespace godwit {

struct ModelGeometry {
  std::int64_t num_layers = 0;
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_heads = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t max_positions = 0;  ///< Longest context the model was made for.
};

/// One architecture. Made from a config, then loaded once, then used by one thread.
class Model {
 public:
  virtual ~Model() = default;

  [[nodiscard]] virtual const ModelGeometry& geometry() const = 0;
  /// What each layer stores for each token; a layer that is not named stores nothing.
  [[nodiscard]] virtual std::vector<LayerCacheSpec> cache_specs() const = 0;

  /// Reads every weight. `max_positions` bounds the tables made for positions.
  virtual Status load(WeightsReader& reader, std::int64_t max_positions) = 0;

  /// Runs all layers. Shapes: ids [tokens] i32, hidden [tokens, hidden_size] f32, before the last
  /// norm.
  virtual Status forward(const Context& context, const Tensor& ids, Tensor& hidden) const = 0;

  /// Shapes: hidden [rows, hidden_size], overwritten; out [rows, vocab_size] f32.
  virtual Status logits(const Context& context, Tensor& hidden, Tensor& out) const = 0;
};

/// A row of the table of architectures.
struct ModelKind {
  std::string_view architecture;  ///< As config.json's `architectures` names it.
  Result<std::unique_ptr<Model>> (*create)(const Json& config, const std::string& config_name);
};

std::span<const ModelKind> model_table();

/// Makes the model that the config names. `config_name` stands for it in errors.
/// Errors: kUnimplemented naming an unknown architecture and those of similar names;
/// kInvalidArgument naming a missing or contradictory field.
Result<std::unique_ptr<Model>> create_model(const Json& config, const std::string& config_name);

}  // namespace godwit
