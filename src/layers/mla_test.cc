// A layer of latent attention of a fixture: how its heads are grouped does not show.

#include "layers/mla.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "device/device.h"
#include "device/upload.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

constexpr std::int64_t kTokens = 40;
constexpr std::int64_t kHidden = 96;

MlaConfig first_layer_of_deepseek_v3() {
  return {.hidden_size = kHidden,
          .num_heads = 4,
          .q_lora_rank = 48,
          .kv_lora_rank = 32,
          .qk_nope_head_dim = 16,
          .qk_rope_head_dim = 8,
          .v_head_dim = 24,
          .scale = 0.2F,
          .norm_epsilon = 1e-6F};
}

/// The layer's answer to kTokens random rows, which are its whole context, in pages of 16.
std::vector<float> answer(Device& device, Stream& stream, const MlaConfig& config) {
  const auto path = test::test_data() / "models" / "deepseek_v3";
  const Checkpoint checkpoint = std::move(Checkpoint::open(path)).value();
  WeightsReader reader(checkpoint, device, stream);
  const Mla mla = Mla::load(reader, "model.layers.0.self_attn", config).value();
  const Rotary rotary =
      Rotary::create(
          reader,
          {.rotary_dim = config.qk_rope_head_dim, .scaling = DefaultRope{}, .interleaved = true},
          64)
          .value();

  const Workspace::Scope scope(stream.workspace());
  std::vector<float> rows(kTokens * kHidden);
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::generate(rows.begin(), rows.end(), [&] { return normal(engine); });
  std::vector<std::int32_t> positions(kTokens);
  std::iota(positions.begin(), positions.end(), 0);
  std::vector<std::int64_t> slots(kTokens);
  std::iota(slots.begin(), slots.end(), 16);  // Pages 1, 2 and 3.
  const LayerCache cache = {
      .k = stream.workspace().tensor(DType::kF32, {4, 1, 16, config.latent_dim()}).value(),
      .v = Tensor(),
      .index = Tensor()};
  const std::vector<std::int32_t> starts = {0, kTokens};
  const std::vector<std::int32_t> table = {1, 2, 3};
  const Context context = {
      .stream = stream,
      .attention = {.positions = upload(stream, positions).value(),
                    .query_start = upload(stream, starts).value(),
                    .context_lens = upload(stream, std::vector<std::int32_t>{kTokens}).value(),
                    .groups = {{.slots = upload(stream, slots).value(),
                                .block_tables = upload(stream, table, {1, 3}).value()}}},
      .caches = std::span(&cache, 1)};
  Tensor out = stream.workspace().tensor(DType::kF32, {kTokens, kHidden}).value();
  EXPECT_TRUE(
      mla.forward(context, rotary, upload(stream, rows, {kTokens, kHidden}).value(), {}, out).ok());
  std::vector<float> values;
  EXPECT_TRUE(download(stream, out, values).ok());
  EXPECT_TRUE(stream.synchronize().ok());
  return values;
}

TEST(MlaTest, GroupsOfHeadsDoNotShow) {
  const auto device = create_device("cpu", {.threads = 2, .isa = ""}).value();
  const auto stream = device->create_stream().value();
  MlaConfig config = first_layer_of_deepseek_v3();
  const std::vector<float> together = answer(*device, *stream, config);
  for (const std::int64_t heads : {1, 2, 3}) {
    config.group_elements =
        heads * kTokens * (config.query_dim() + config.latent_dim() + config.kv_lora_rank);
    const std::vector<float> grouped = answer(*device, *stream, config);
    ASSERT_EQ(grouped.size(), together.size());
    EXPECT_EQ(std::memcmp(grouped.data(), together.data(), grouped.size() * sizeof(float)), 0)
        << heads << " heads at a time";
  }
}

}  // namespace
}  // namespace godwit
