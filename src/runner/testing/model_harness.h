#pragma once
// Runs a model on a fixture, chunk by chunk, and hands back every position's logits.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "device/device.h"
#include "kernels/params/dense.h"
#include "runner/kv_storage.h"
#include "runner/load_model.h"
#include "runner/memory_plan.h"

namespace godwit::test {

struct HarnessOptions {
  std::string isa;  ///< Empty for the fastest.
  int threads = 1;
  Precision precision = Precision::kExact;
  std::int64_t block_size = 16;
  std::optional<std::int64_t> max_model_len = std::nullopt;  ///< The model's own when absent.
};

/// A part of a sequence: `ids` take the positions from `start` on.
struct Chunk {
  std::int64_t sequence = 0;
  std::int64_t start = 0;
  std::vector<TokenId> ids;
};

/// Sequences 0 .. kSequences-1 each own the blocks that one context of the model needs; block ids
/// are dealt out in a mixed order, so that a wrong table shows.
class ModelHarness {
 public:
  static constexpr std::int64_t kSequences = 4;

  /// CHECKs that the fixture loads.
  static std::unique_ptr<ModelHarness> load(const std::filesystem::path& path,
                                            const HarnessOptions& options);

  /// One step. Returns [tokens of all chunks][vocab_size], chunk after chunk.
  std::vector<std::vector<float>> step(const std::vector<Chunk>& chunks);

  /// Fills every page with NaN, as recycled memory may be.
  void poison_cache();

  [[nodiscard]] std::int64_t vocab_size() const;

 private:
  ModelHarness() = default;

  void deal_blocks();

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  HarnessOptions options_;
  MemoryPlan plan_;
  std::int64_t blocks_each_ = 0;            // Of one sequence, in each group.
  std::vector<std::int64_t> first_blocks_;  // The id of each group's first one.
  LoadedModel model_;
  KvStorage cache_;
};

}  // namespace godwit::test
