// The layer over checkpoints written for the purpose: all forms of storage compute the same, and
// what is missing or misshapen is named before memory is taken.

#include "moe/moe_layer.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "device/device.h"
#include "device/upload.h"
#include "weights/checkpoint.h"
#include "weights/test_files.h"

namespace godwit {
namespace {

constexpr std::int64_t kHidden = 24;
constexpr std::int64_t kWidth = 10;
constexpr std::int64_t kExperts = 5;

struct StoredValues {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
  const char* dtype = "F32";
};
using Stored = std::map<std::string, StoredValues>;

/// One safetensors file of f32 (or, for a table, I32) tensors.
class CheckpointFile {
 public:
  explicit CheckpointFile(const Stored& tensors) {
    std::string header = "{";
    std::string data;
    for (const auto& [name, tensor] : tensors) {
      const std::size_t begin = data.size();
      for (const float value : tensor.values) {
        const auto whole = static_cast<std::int32_t>(value);
        const bool is_index = std::strcmp(tensor.dtype, "I32") == 0;
        data.append(is_index ? reinterpret_cast<const char*>(&whole)
                             : reinterpret_cast<const char*>(&value),
                    4);
      }
      header += header.size() > 1 ? "," : "";
      header += "\"" + name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[";
      for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
        header += (i > 0 ? "," : "") + std::to_string(tensor.shape[i]);
      }
      header +=
          "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(data.size()) + "]}";
    }
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::string file;
    test::append_number<std::uint64_t>(file, header.size());
    folder_.write("model.safetensors", file + header + data);
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  test::TemporaryFolder folder_;
};

/// A device, a checkpoint on it and what was read.
struct MoeRig {
  explicit MoeRig(const Stored& tensors)
      : file(tensors),
        checkpoint(Checkpoint::open(file.folder()).value()),
        device(create_device("cpu", {.threads = 1, .isa = {}}).value()),
        stream(device->create_stream().value()),
        reader(checkpoint, *device, *stream) {}

  /// The layer's answer for x [tokens, hidden].
  std::vector<float> run(const MoeLayer& layer, const std::vector<float>& x,
                         const std::vector<std::int32_t>& ids, float before = 0.0F) {
    const Context context = {.stream = *stream, .attention = {}, .caches = {}};
    const auto tokens = std::ssize(ids);
    Tensor in = upload(*stream, x, {tokens, kHidden}).value();
    Tensor out = upload(*stream, std::vector<float>(x.size(), before), {tokens, kHidden}).value();
    const Tensor token_ids = upload(*stream, ids).value();
    const Status status = before == 0.0F ? layer.forward(context, token_ids, in, out)
                                         : layer.forward_add(context, token_ids, in, out);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<float> result;
    EXPECT_TRUE(download(*stream, out, result).ok());
    EXPECT_TRUE(stream->synchronize().ok());
    return result;
  }

  CheckpointFile file;
  Checkpoint checkpoint;
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  WeightsReader reader;
};

std::vector<float> random_values(std::uint32_t seed, std::int64_t count) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0F, 0.3F);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = normal(engine);
  }
  return values;
}

float weight_at(std::uint32_t matrix, std::int64_t expert, std::int64_t row, std::int64_t column) {
  const std::int64_t columns = matrix == 2 ? kWidth : kHidden;
  return random_values(matrix * 100 + static_cast<std::uint32_t>(expert),
                       kHidden * kWidth)[static_cast<std::size_t>(row * columns + column)];
}

MoeConfig plain_config() {
  return {.router = {.hidden_size = kHidden,
                     .num_experts = kExperts,
                     .top_k = 2,
                     .rule = {.score = RouterScore::kSoftmax, .renormalize = true},
                     .vocab_size = 3},
          .experts = {.hidden_size = kHidden, .num_experts = kExperts, .width = kWidth, .form = {}},
          .shared = std::nullopt};
}

Stored with_router() {
  return {{"l.mlp.gate.weight", {{kExperts, kHidden}, random_values(9, kExperts * kHidden)}}};
}

Stored each_expert() {
  Stored stored = with_router();
  const char* kNames[] = {"gate_proj", "up_proj", "down_proj"};
  for (std::int64_t e = 0; e < kExperts; ++e) {
    for (std::uint32_t m = 0; m < 3; ++m) {
      const bool down = m == 2;
      stored["l.mlp.experts." + std::to_string(e) + "." + kNames[m] + ".weight"] = {
          {down ? kHidden : kWidth, down ? kWidth : kHidden},
          random_values(m * 100 + static_cast<std::uint32_t>(e), kHidden * kWidth)};
    }
  }
  return stored;
}

/// The same experts as fused tensors.
Stored fused_experts(ExpertStorage storage) {
  Stored stored = with_router();
  const bool rows = storage == ExpertStorage::kRows;
  StoredValues both = {{kExperts, rows ? 2 * kWidth : kHidden, rows ? kHidden : 2 * kWidth}, {}};
  StoredValues down = {{kExperts, rows ? kHidden : kWidth, rows ? kWidth : kHidden}, {}};
  for (std::int64_t e = 0; e < kExperts; ++e) {
    for (std::int64_t i = 0; i < both.shape[1]; ++i) {
      for (std::int64_t j = 0; j < both.shape[2]; ++j) {
        const std::int64_t at = rows ? i : j;
        const bool interleaved = storage == ExpertStorage::kInterleavedColumns;
        const std::int64_t part = interleaved ? at % 2 : at / kWidth;
        const std::int64_t row = interleaved ? at / 2 : at % kWidth;
        both.values.push_back(weight_at(static_cast<std::uint32_t>(part), e, row, rows ? j : i));
      }
    }
    for (std::int64_t i = 0; i < down.shape[1]; ++i) {
      for (std::int64_t j = 0; j < down.shape[2]; ++j) {
        down.values.push_back(rows ? weight_at(2, e, i, j) : weight_at(2, e, j, i));
      }
    }
  }
  stored["l.both"] = both;
  stored["l.down"] = down;
  return stored;
}

TEST(MoeLayerTest, AllFormsOfStorageComputeTheSame) {
  const std::vector<float> x = random_values(50, 7 * kHidden);
  const std::vector<std::int32_t> ids(7, 0);
  MoeRig each(each_expert());
  const MoeLayer layer = MoeLayer::load(each.reader, "l.", plain_config()).value();
  const std::vector<float> expected = each.run(layer, x, ids);
  for (const ExpertStorage storage :
       {ExpertStorage::kRows, ExpertStorage::kColumns, ExpertStorage::kInterleavedColumns}) {
    MoeRig fused(fused_experts(storage));
    MoeConfig config = plain_config();
    config.experts.storage = storage;
    config.experts.gate = "both";
    config.experts.down = "down";
    const MoeLayer same = MoeLayer::load(fused.reader, "l.", config).value();
    EXPECT_EQ(fused.run(same, x, ids), expected) << static_cast<int>(storage);
    const bool in_place = fused.reader.take_store().allocated_bytes() == 0;
    EXPECT_EQ(in_place, storage == ExpertStorage::kRows);
  }
}

TEST(MoeLayerTest, EqualsTheFormula) {
  // Written out in double precision, with a gated shared expert and what `out` held before.
  Stored stored = each_expert();
  const std::vector<float> gate = random_values(60, kHidden);
  stored["l.shared_gate.weight"] = {{1, kHidden}, gate};
  for (const char* name : {"gate_proj", "up_proj", "down_proj"}) {
    const std::string source = std::string("l.mlp.experts.3.") + name + ".weight";
    stored[std::string("l.shared.") + name + ".weight"] = stored[source];
  }
  MoeConfig config = plain_config();
  config.shared =
      SharedExpertConfig{.mlp = {.hidden_size = kHidden, .intermediate_size = kWidth, .form = {}},
                         .name = "shared",
                         .gate = "shared_gate"};
  MoeRig rig(stored);
  const MoeLayer layer = MoeLayer::load(rig.reader, "l.", config).value();
  const std::vector<float> x = random_values(51, kHidden);
  const std::vector<float> got = rig.run(layer, x, {0}, 2.0F);

  const auto dot = [&](const std::vector<float>& w, std::int64_t row) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < kHidden; ++i) {
      sum += static_cast<double>(w[static_cast<std::size_t>(row * kHidden + i)]) *
             static_cast<double>(x[static_cast<std::size_t>(i)]);
    }
    return sum;
  };
  const auto expert = [&](std::int64_t e) {
    const auto matrix = [&](std::uint32_t m) {
      return random_values(m * 100 + static_cast<std::uint32_t>(e), kHidden * kWidth);
    };
    std::vector<double> inner;
    for (std::int64_t r = 0; r < kWidth; ++r) {
      const double g = dot(matrix(0), r);
      inner.push_back(g / (1.0 + std::exp(-g)) * dot(matrix(1), r));
    }
    const std::vector<float> down = matrix(2);
    std::vector<double> out(kHidden, 0.0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (std::size_t r = 0; r < inner.size(); ++r) {
        out[i] += inner[r] * static_cast<double>(down[i * inner.size() + r]);
      }
    }
    return out;
  };
  std::vector<std::pair<double, std::int64_t>> ranked;
  for (std::int64_t e = 0; e < kExperts; ++e) {
    ranked.emplace_back(-dot(random_values(9, kExperts * kHidden), e), e);
  }
  std::sort(ranked.begin(), ranked.end());
  const double first = 1.0 / (1.0 + std::exp(ranked[0].first - ranked[1].first));
  const double shared = 1.0 / (1.0 + std::exp(-dot(gate, 0)));
  const std::vector<double> a = expert(ranked[0].second);
  const std::vector<double> b = expert(ranked[1].second);
  const std::vector<double> c = expert(3);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], 2.0 + first * a[i] + (1.0 - first) * b[i] + shared * c[i], 1e-5);
  }
}

TEST(MoeLayerTest, TokensMayNameTheirExperts) {
  Stored stored = each_expert();
  stored["l.table"] = {{3, 2}, {4, 1, 0, 2, 3, 4}, "I32"};
  MoeConfig config = plain_config();
  config.router.table = "table";
  MoeRig rig(stored);
  const Router router = Router::load(rig.reader, "l.", config.router).value();
  const Context context = {.stream = *rig.stream, .attention = {}, .caches = {}};
  const Tensor x = upload(*rig.stream, random_values(5, 3 * kHidden), {3, kHidden}).value();
  const Tensor ids = upload(*rig.stream, std::vector<std::int32_t>{2, 3, 0}).value();
  const Routing routing = router.forward(context, ids, x).value();
  std::vector<std::int32_t> chosen;
  ASSERT_TRUE(download(*rig.stream, routing.ids, chosen).ok());
  ASSERT_TRUE(rig.stream->synchronize().ok());
  EXPECT_EQ(chosen, (std::vector<std::int32_t>{3, 4, -1, -1, 4, 1}));

  stored["l.table"].values[4] = 5;
  MoeRig wrong(stored);
  const auto refused = Router::load(wrong.reader, "l.", config.router);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("l.table names expert 5 of 5"), std::string::npos);
}

/// The message of a failed load, and whether it took memory for experts.
std::string load_error(const Stored& stored, const MoeConfig& config) {
  MoeRig rig(stored);
  const auto layer = MoeLayer::load(rig.reader, "l.", config);
  EXPECT_FALSE(layer.ok());
  EXPECT_EQ(rig.reader.take_store().allocated_bytes(), 0U);
  return layer.ok() ? "" : layer.status().message();
}

TEST(MoeLayerTest, WhatIsMissingOrMisshapenIsNamed) {
  Stored missing = each_expert();
  missing.erase("l.mlp.experts.3.down_proj.weight");
  EXPECT_NE(load_error(missing, plain_config()).find("l.mlp.experts.3.down_proj.weight"),
            std::string::npos);
  MoeConfig more = plain_config();
  more.router.num_experts = 6;
  more.experts.num_experts = 6;
  EXPECT_NE(load_error(each_expert(), more).find("l.mlp.gate.weight"), std::string::npos);

  Stored corrected = each_expert();
  corrected["l.bias"] = {{kExperts + 1}, random_values(1, kExperts + 1)};
  MoeConfig config = plain_config();
  config.router.correction = "bias";
  const std::string error = load_error(corrected, config);
  EXPECT_NE(error.find("l.bias"), std::string::npos) << error;
  EXPECT_NE(error.find("[6]"), std::string::npos) << error;
  EXPECT_NE(error.find("[5]"), std::string::npos) << error;

  Stored mixed = each_expert();
  StoredValues& odd = mixed["l.mlp.experts.4.gate_proj.weight"];
  odd.dtype = "BF16";
  odd.values.resize(odd.values.size() / 2);
  EXPECT_NE(load_error(mixed, plain_config()).find("l.mlp.experts.4.gate_proj.weight"),
            std::string::npos);
}

}  // namespace
}  // namespace godwit
