#include "runner/testing/model_harness.h"

#include <cstdio>
#include <limits>

#include "base/check.h"
#include "device/upload.h"
#include "runner/device_batch.h"

namespace godwit::test {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().message().c_str());
  }
  CHECK(result.ok());
  return std::move(result).value();
}

void must(const Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
  }
  CHECK(status.ok());
}

}  // namespace

std::unique_ptr<ModelHarness> ModelHarness::load(const std::filesystem::path& path,
                                                 const HarnessOptions& options) {
  auto harness = std::unique_ptr<ModelHarness>(new ModelHarness());
  harness->options_ = options;
  harness->device_ = must(create_device("cpu", {.threads = options.threads, .isa = options.isa}));
  harness->stream_ = must(harness->device_->create_stream());
  ModelFiles files = must(open_model(path));
  const bool exact = options.precision == Precision::kExact;
  const MemoryPlanOptions memory = {.max_model_len = options.max_model_len,
                                    .kv_cache_bytes = std::size_t{1} << 30,
                                    .block_size = options.block_size,
                                    .max_num_seqs = kSequences,
                                    .kv_dtype = exact ? DType::kF32 : DType::kBF16};
  harness->plan_ = must(plan_memory(*files.model, files.checkpoint.total_bytes(), 0, memory));
  harness->deal_blocks();
  harness->model_ = must(load_model(std::move(files), *harness->device_, *harness->stream_,
                                    harness->plan_.max_model_len));
  harness->cache_ =
      must(KvStorage::create(*harness->device_, harness->plan_.kv, harness->plan_.layout,
                             memory.kv_dtype, harness->model_.model->geometry().num_layers));
  harness->poison_cache();
  return harness;
}

/// Gives each group slabs for whole contexts of all sequences, windows or not.
void ModelHarness::deal_blocks() {
  CacheLayout& layout = plan_.layout;
  blocks_each_ = blocks_for(plan_.max_model_len, options_.block_size);
  layout.num_slabs = 0;
  for (const GroupLayout& group : layout.groups) {
    first_blocks_.push_back(layout.num_slabs * group.blocks_per_slab);
    layout.num_slabs += blocks_for(blocks_each_ * kSequences, group.blocks_per_slab);
  }
}

std::int64_t ModelHarness::vocab_size() const {
  return model_.model->geometry().vocab_size;
}

void ModelHarness::poison_cache() {
  // All bits set is a NaN in f32 and in bf16.
  const std::vector<std::byte> ones(cache_.buffer().size(), std::byte{0xFF});
  must(stream_->copy_in(cache_.buffer().data(), ones));
}

std::vector<std::vector<float>> ModelHarness::step(const std::vector<Chunk>& chunks) {
  ScheduledBatch batch;
  SequenceTable sequences(kSequences);
  std::vector<std::int32_t> ids;
  for (const Chunk& chunk : chunks) {
    const SequenceId id{chunk.sequence};
    RunnerSequence& sequence =
        sequences.start({.id = id, .tokens = {}, .prompt_len = 0, .sampling = {}, .seed = 0});
    const std::int64_t end = chunk.start + static_cast<std::int64_t>(chunk.ids.size());
    for (const std::int64_t first : first_blocks_) {
      std::vector<BlockId>& blocks = sequence.blocks.emplace_back();
      for (std::int64_t i = 0; i < blocks_for(end, options_.block_size); ++i) {
        // Odd multiplier steps through all of a sequence's blocks in a mixed order.
        blocks.push_back(static_cast<BlockId>(first + chunk.sequence +
                                              kSequences * ((i * 7 + 3) % blocks_each_)));
      }
    }
    batch.sequences.push_back({.id = id,
                               .start = chunk.start,
                               .count = static_cast<std::int64_t>(chunk.ids.size()),
                               .new_blocks = {},
                               .samples = false,
                               .draft_tokens = {}});
    ids.insert(ids.end(), chunk.ids.begin(), chunk.ids.end());
  }
  batch.total_tokens = static_cast<std::int64_t>(ids.size());

  Workspace::Scope scope(stream_->workspace());
  const DeviceBatch tensors = must(make_device_batch(*stream_, batch, sequences, plan_.layout));
  const Context context = {.stream = *stream_,
                           .precision = options_.precision,
                           .attention = tensors.attention,
                           .caches = cache_.layers()};
  const ModelGeometry& geometry = model_.model->geometry();
  Tensor hidden =
      must(stream_->workspace().tensor(DType::kF32, {batch.total_tokens, geometry.hidden_size}));
  Tensor logits =
      must(stream_->workspace().tensor(DType::kF32, {batch.total_tokens, geometry.vocab_size}));
  must(model_.model->forward(context, must(upload(*stream_, ids)), hidden));
  must(model_.model->logits(context, hidden, logits));
  std::vector<float> flat;
  must(download(*stream_, logits, flat));
  must(stream_->synchronize());
  std::vector<std::vector<float>> rows;
  for (std::int64_t row = 0; row < batch.total_tokens; ++row) {
    const auto begin = flat.begin() + row * geometry.vocab_size;
    rows.emplace_back(begin, begin + geometry.vocab_size);
  }
  return rows;
}

}  // namespace godwit::test
