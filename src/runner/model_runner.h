#pragma once
// Runs steps on one rank: a ScheduledBatch in, tokens out.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "kernels/params/dense.h"
#include "request/request.h"
#include "runner/kv_storage.h"
#include "runner/load_model.h"
#include "runner/memory_plan.h"
#include "runner/sequence_table.h"
#include "sample/sampler.h"
#include "sched/scheduled_batch.h"

namespace godwit {

struct RunnerOptions {
  std::string device = "cpu";
  DeviceOptions device_options;
  Precision precision = Precision::kFast;  ///< kExact for --dtype float32.
  MemoryPlanOptions memory;                ///< Its max_num_seqs bounds the batches' sequences.
  std::vector<TokenId> eos_ids;
};

/// Log probabilities of prompt tokens [first, first + logprobs.size()) of one sequence.
struct PromptLogprobs {
  SequenceId id{};
  std::int64_t first = 0;
  std::vector<TokenLogprob> logprobs;
};

struct StepOutput {
  std::vector<DrawnToken>
      drawn;  ///< One for each sequence of the batch that samples, in its order.
  std::vector<PromptLogprobs> prompt_logprobs;
};

/// Owns the device, the weights, the cache and what it knows of each running sequence.
/// Threading: one thread at a time.
class ModelRunner {
 public:
  static Result<std::unique_ptr<ModelRunner>> create(ModelFiles files,
                                                     const RunnerOptions& options);

  /// Errors: a fault of the device; the batch's effects are then unspecified.
  Result<StepOutput> execute(const ScheduledBatch& batch);

  [[nodiscard]] const MemoryPlan& plan() const { return plan_; }
  [[nodiscard]] const RunnerOptions& options() const { return options_; }
  [[nodiscard]] const ModelGeometry& geometry() const { return model_.model->geometry(); }
  [[nodiscard]] const Device& device() const { return *device_; }
  /// Names model, precision and cache layout: what two engines must share to share cached prefixes.
  [[nodiscard]] const std::string& fingerprint() const { return fingerprint_; }

 private:
  ModelRunner() = default;

  Status start_sequences(const ScheduledBatch& batch);
  Result<std::vector<DrawnToken>> draw(const ScheduledBatch& batch, const Context& context,
                                       const Tensor& hidden);
  Result<std::vector<PromptLogprobs>> prompt_logprobs(const ScheduledBatch& batch,
                                                      const Context& context, const Tensor& hidden);
  Result<PromptLogprobs> prompt_logprobs_of(const ScheduledSequence& scheduled,
                                            std::int64_t first_row, const Context& context,
                                            const Tensor& hidden);
  Result<Tensor> logits_of_rows(const Context& context, const Tensor& hidden,
                                const std::vector<std::int32_t>& rows);

  // The device comes first: everything below lives in its memory.
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  RunnerOptions options_;
  MemoryPlan plan_;
  LoadedModel model_;
  KvStorage cache_;
  Buffer token_memory_;
  Tensor token_buffer_;  // [max_num_seqs, max_model_len] i32
  std::unique_ptr<SequenceTable> sequences_;
  std::string fingerprint_;
};

}  // namespace godwit
