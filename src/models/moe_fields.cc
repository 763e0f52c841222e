#include "models/moe_fields.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace godwit {
namespace {

/// More than any model has; their names alone take memory.
constexpr std::int64_t kMostExperts = 65536;

/// The number of experts, whatever it is called. Two names must not say two numbers.
Result<std::int64_t> read_expert_count(const ConfigReader& reader) {
  constexpr std::array<const char*, 4> kKeys = {"num_experts", "num_local_experts",
                                                "n_routed_experts", "moe_num_experts"};
  const char* first = nullptr;
  std::int64_t count = 0;
  for (const char* key : kKeys) {
    if (reader.find(key) == nullptr) {
      continue;
    }
    const std::int64_t here = TRY(reader.integer(key, 1, kMostExperts));
    if (first != nullptr && here != count) {
      return reader.unexpected(key,
                               "what " + std::string(first) + " says, " + std::to_string(count));
    }
    first = key;
    count = here;
  }
  return first != nullptr ? Result<std::int64_t>(count) : reader.integer(kKeys[0]);
}

using Sparse = std::vector<bool>;

/// Clears the layers for which `dense(index)` holds.
void clear(Sparse& sparse, const std::function<bool(std::int64_t)>& dense) {
  for (std::size_t i = 0; i < sparse.size(); ++i) {
    if (dense(static_cast<std::int64_t>(i))) {
      sparse[i] = false;
    }
  }
}

Status first_dense(const ConfigReader& reader, const char* key, Sparse& sparse) {
  const std::int64_t count = TRY(reader.integer(key, 0));
  clear(sparse, [&](std::int64_t i) { return i < count; });
  return {};
}

/// Every n-th layer is sparse, counted from 1; 0: none.
Status every_nth(const ConfigReader& reader, const char* key, Sparse& sparse) {
  const std::int64_t step = TRY(reader.integer(key, 0));
  clear(sparse, [&](std::int64_t i) { return step == 0 || (i + 1) % step != 0; });
  return {};
}

/// A list of the numbers of layers.
Result<std::vector<std::int64_t>> read_layer_list(const ConfigReader& reader, const char* key,
                                                  std::size_t num_layers) {
  const std::string expected = "a list of numbers of layers, below " + std::to_string(num_layers);
  const Json* list = reader.find(key);
  if (!list->is_array()) {
    return reader.unexpected(key, expected);
  }
  std::vector<std::int64_t> layers;
  for (const Json& entry : list->as_array()) {
    const auto layer = entry.to_int64();
    if (!layer || *layer < 0 || *layer >= static_cast<std::int64_t>(num_layers)) {
      return reader.unexpected(key, expected);
    }
    layers.push_back(*layer);
  }
  return layers;
}

Status listed_dense(const ConfigReader& reader, const char* key, Sparse& sparse) {
  for (const std::int64_t layer : TRY(read_layer_list(reader, key, sparse.size()))) {
    sparse[static_cast<std::size_t>(layer)] = false;
  }
  return {};
}

Status listed_sparse(const ConfigReader& reader, const char* key, Sparse& sparse) {
  const auto layers = TRY(read_layer_list(reader, key, sparse.size()));
  clear(sparse, [&](std::int64_t i) { return std::ranges::find(layers, i) == layers.end(); });
  return {};
}

/// n: every n-th layer, counted from 0. A list: one 0 or 1 a layer.
Status frequency(const ConfigReader& reader, const char* key, Sparse& sparse) {
  const Json* value = reader.find(key);
  if (!value->is_array()) {
    const std::int64_t step = TRY(reader.integer(key));
    clear(sparse, [&](std::int64_t i) { return i % step != 0; });
    return {};
  }
  const std::string expected = std::to_string(sparse.size()) + " numbers that are 0 or 1";
  if (value->as_array().size() != sparse.size()) {
    return reader.unexpected(key, expected);
  }
  for (std::size_t i = 0; i < sparse.size(); ++i) {
    const auto flag = value->as_array()[i].to_int64();
    if (flag != 0 && flag != 1) {
      return reader.unexpected(key, expected);
    }
    sparse[i] = sparse[i] && flag == 1;
  }
  return {};
}

/// Ernie's: every n-th layer, counted from 1, of those from a first to a last one.
Status interval(const ConfigReader& reader, const char* key, Sparse& sparse) {
  TRY(every_nth(reader, key, sparse));
  const std::int64_t first = TRY(reader.optional_integer("moe_layer_start_index", 0)).value_or(0);
  const std::int64_t last = TRY(reader.optional_integer("moe_layer_end_index", -1)).value_or(-1);
  clear(sparse, [&](std::int64_t i) { return i < first || (last >= 0 && i > last); });
  return {};
}

Status layer_types(const ConfigReader& reader, const char* key, Sparse& sparse) {
  const auto types = TRY(reader.optional_strings(key));
  const std::string expected =
      "\"dense\" or \"sparse\" for each of the " + std::to_string(sparse.size()) + " layers";
  if (types->size() != sparse.size()) {
    return reader.unexpected(key, expected);
  }
  for (std::size_t i = 0; i < sparse.size(); ++i) {
    const std::string& type = (*types)[i];
    if (type != "dense" && type != "sparse") {
      return reader.unexpected(key, expected);
    }
    sparse[i] = sparse[i] && type == "sparse";
  }
  return {};
}

/// The rule of DeepSeek-V3.
Result<RouteRule> read_grouped_rule(const ConfigReader& reader, const MoeConfig& moe) {
  const std::int64_t experts = moe.router.num_experts;
  const std::int64_t groups = TRY(reader.optional_integer("n_group", 1, experts)).value_or(1);
  const std::int64_t best = TRY(reader.optional_integer("topk_group", 1, groups)).value_or(1);
  if (experts % groups != 0) {
    return reader.unexpected("n_group", "a divisor of the " + std::to_string(experts) + " experts");
  }
  if (experts / groups * best < moe.router.top_k) {
    return reader.unexpected(
        "topk_group", "groups with at least " + std::to_string(moe.router.top_k) + " experts");
  }
  return RouteRule{.score = RouterScore::kSigmoid,
                   .groups = groups,
                   .top_groups = best,
                   .two_best_of_group = true,
                   .renormalize = TRY(reader.boolean("norm_topk_prob", true)),
                   .sum_epsilon = 1e-20F,
                   .scale = reader.find("routed_scaling_factor") != nullptr
                                ? static_cast<float>(TRY(reader.positive("routed_scaling_factor")))
                                : 1.0F};
}

}  // namespace

Result<MoeConfig> read_moe_config(const ConfigReader& reader, const DecoderConfig& decoder,
                                  const MoeFields& fields) {
  const std::int64_t count = TRY(read_expert_count(reader));
  const std::int64_t top_k = TRY(reader.integer(fields.top_k, 1, count));
  MoeConfig moe;
  moe.router = {.hidden_size = decoder.hidden_size,
                .num_experts = count,
                .top_k = top_k,
                .rule = {},
                .vocab_size = decoder.vocab_size};
  moe.experts = {.hidden_size = decoder.hidden_size,
                 .num_experts = count,
                 .width = TRY(reader.integer(fields.width)),
                 .form = {.activation = decoder.activation}};
  return moe;
}

SharedExpertConfig shared_expert(const DecoderConfig& decoder, std::int64_t width) {
  return {.mlp = {.hidden_size = decoder.hidden_size,
                  .intermediate_size = width,
                  .form = {.activation = decoder.activation}}};
}

void use_mixtral_names(MoeConfig& moe) {
  moe.router.gate = "block_sparse_moe.gate";
  moe.experts.gate = "block_sparse_moe.experts.#.w1.weight";
  moe.experts.up = "block_sparse_moe.experts.#.w3.weight";
  moe.experts.down = "block_sparse_moe.experts.#.w2.weight";
}

Status read_grouped_experts(const ConfigReader& reader, DecoderConfig& decoder) {
  MoeConfig moe = TRY(read_moe_config(reader, decoder));
  moe.router.rule = TRY(read_grouped_rule(reader, moe));
  moe.router.correction = "mlp.gate.e_score_correction_bias";
  const auto shared = TRY(reader.optional_integer("n_shared_experts", 0));
  if (shared.value_or(0) > 0) {
    moe.shared = shared_expert(decoder, *shared * moe.experts.width);
  }
  decoder.moe = moe;
  return read_sparse_layers(reader, {"first_k_dense_replace", "moe_layer_freq", "mlp_layer_types"},
                            decoder);
}

Status read_sparse_layers(const ConfigReader& reader, std::initializer_list<const char*> keys,
                          DecoderConfig& decoder) {
  struct Row {
    std::string_view key;
    Status (*read)(const ConfigReader& reader, const char* key, Sparse& sparse);
  };
  constexpr std::array<Row, 8> kRows = {{{"first_k_dense_replace", first_dense},
                                         {"moe_layer_freq", frequency},
                                         {"decoder_sparse_step", every_nth},
                                         {"mlp_only_layers", listed_dense},
                                         {"moe_layer_interval", interval},
                                         {"interleave_moe_layer_step", every_nth},
                                         {"moe_layers", listed_sparse},
                                         {"mlp_layer_types", layer_types}}};
  Sparse sparse(decoder.layers.size(), true);
  for (const char* key : keys) {
    const auto* row = std::ranges::find(kRows, std::string_view(key), &Row::key);
    if (reader.find(key) != nullptr) {
      TRY(row->read(reader, key, sparse));
    }
  }
  for (std::size_t i = 0; i < sparse.size(); ++i) {
    decoder.layers[i].sparse = sparse[i];
  }
  return {};
}

}  // namespace godwit
