#include "models/mla_fields.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace godwit {
namespace {

/// With at most 65536 heads, the products of widths stay within 64 bits.
constexpr std::int64_t kWidest = 65536;

/// What sharpens the scores of contexts longer than the original one: YaRN's factor for all
/// channels, once for the queries and once for the keys.
Result<double> read_score_factor(const ConfigReader& reader, const RopeConfig& rope) {
  const auto* yarn = std::get_if<YarnRope>(&rope.scaling);
  const char* key = reader.find("rope_parameters") != nullptr ? "rope_parameters" : "rope_scaling";
  const Json* object = reader.find(key);
  constexpr const char* kMscale = "mscale_all_dim";
  if (yarn == nullptr || object == nullptr) {
    return 1.0;
  }
  const ConfigReader rope_reader(*object, reader.name() + ": " + key);
  if (rope_reader.find(kMscale) == nullptr) {
    return 1.0;
  }
  const double factor = yarn_attention_factor(yarn->factor, TRY(rope_reader.positive(kMscale)));
  return factor * factor;
}

}  // namespace

Status read_latent_attention(const ConfigReader& reader, DecoderConfig& config, bool has_rope) {
  MlaConfig mla;
  mla.hidden_size = config.hidden_size;
  mla.num_heads = config.num_heads;
  mla.q_lora_rank = TRY(reader.optional_integer("q_lora_rank", 1, kWidest)).value_or(0);
  mla.kv_lora_rank = TRY(reader.integer("kv_lora_rank", 1, kWidest));
  mla.qk_nope_head_dim = TRY(reader.integer("qk_nope_head_dim", 1, kWidest));
  mla.qk_rope_head_dim = TRY(reader.integer("qk_rope_head_dim", 2, kWidest));
  mla.v_head_dim = TRY(reader.integer("v_head_dim", 1, kWidest));
  if (mla.qk_rope_head_dim % 2 != 0) {
    return reader.unexpected("qk_rope_head_dim", "an even number, since a rope rotates pairs");
  }
  const auto query_dim = TRY(reader.optional_integer("qk_head_dim"));
  if (query_dim && *query_dim != mla.query_dim()) {
    return reader.unexpected(
        "qk_head_dim", "qk_nope_head_dim + qk_rope_head_dim, " + std::to_string(mla.query_dim()));
  }
  mla.norm_epsilon = 1e-6F;  // Whatever rms_norm_eps says, as in the published code.
  mla.has_bias = TRY(reader.boolean("attention_bias", false));
  config.head_dim = mla.latent_dim();
  if (!has_rope) {
    mla.scale = 1.0F / std::sqrt(static_cast<float>(mla.query_dim()));
    config.mla = mla;
    return {};
  }
  RopeConfig rope = TRY(read_rope_config(reader, {.head_dim = mla.qk_rope_head_dim}));
  rope.interleaved = TRY(reader.boolean("rope_interleave", true));
  mla.scale = static_cast<float>(TRY(read_score_factor(reader, rope)) /
                                 std::sqrt(static_cast<double>(mla.query_dim())));
  config.ropes = {rope};
  config.mla = mla;
  return {};
}

Status read_indexer(const ConfigReader& reader, DecoderConfig& config) {
  MlaConfig& mla = *config.mla;
  if (mla.q_lora_rank == 0) {
    return reader.unexpected("q_lora_rank", "the rank from which the indexer makes its queries");
  }
  mla.indexer = {.num_heads = TRY(reader.integer("index_n_heads", 1, kWidest)),
                 .head_dim = TRY(reader.integer("index_head_dim", mla.qk_rope_head_dim, kWidest)),
                 .most = std::min(TRY(reader.integer("index_topk")), config.max_positions)};
  return {};
}

}  // namespace godwit
