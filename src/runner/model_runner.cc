#include "runner/model_runner.h"

#include <algorithm>

#include "device/upload.h"
#include "ops/dense.h"
#include "ops/sampling.h"
#include "runner/device_batch.h"

namespace godwit {
namespace {

// Rows of logits computed at once for prompt log probabilities: a row can be a megabyte.
constexpr std::int64_t kLogitRows = 64;

std::string make_fingerprint(const ModelFiles& files, const MemoryPlan& plan,
                             const RunnerOptions& options) {
  std::string text = to_json(files.config);
  for (const std::string& file : files.checkpoint.files()) {
    text += '|' + file;
  }
  text += options.precision == Precision::kExact ? "|exact" : "|fast";
  text += '|' + std::string(to_string(options.memory.kv_dtype));
  text += '|' + std::to_string(plan.kv.block_size);
  return text;
}

}  // namespace

Result<std::unique_ptr<ModelRunner>> ModelRunner::create(ModelFiles files,
                                                         const RunnerOptions& options) {
  auto runner = std::unique_ptr<ModelRunner>(new ModelRunner());
  runner->options_ = options;
  runner->device_ = TRY(create_device(options.device, options.device_options));
  runner->stream_ = TRY(runner->device_->create_stream());
  runner->plan_ = TRY(plan_memory(*files.model, files.checkpoint.total_bytes(),
                                  runner->device_->memory().available, options.memory));
  const MemoryPlan& plan = runner->plan_;
  runner->fingerprint_ = make_fingerprint(files, plan, options);
  runner->model_ =
      TRY(load_model(std::move(files), *runner->device_, *runner->stream_, plan.max_model_len));
  runner->cache_ = TRY(KvStorage::create(*runner->device_, plan.kv, plan.layout,
                                         options.memory.kv_dtype, runner->geometry().num_layers));
  const std::int64_t rows = options.memory.max_num_seqs;
  Tensor buffer = Tensor::contiguous(nullptr, DType::kI32, {rows, plan.max_model_len});
  runner->token_memory_ = TRY(runner->device_->allocate(buffer.bytes(), MemoryPurpose::kWorkspace));
  buffer.data = runner->token_memory_.data();
  runner->token_buffer_ = buffer;
  runner->sequences_ = std::make_unique<SequenceTable>(rows);
  return runner;
}

Result<StepOutput> ModelRunner::execute(const ScheduledBatch& batch) {
  TRY(start_sequences(batch));
  StepOutput output;
  if (batch.empty()) {
    return output;
  }
  Workspace::Scope scope(stream_->workspace());
  const DeviceBatch tensors = TRY(make_device_batch(*stream_, batch, *sequences_, plan_.layout));
  const Context context = {.stream = *stream_,
                           .precision = options_.precision,
                           .attention = tensors.attention,
                           .caches = cache_.layers()};
  const Tensor ids = TRY(stream_->workspace().tensor(DType::kI32, {batch.total_tokens}));
  TRY(ops::gather_tokens(*stream_, {.token_buffer = token_buffer_,
                                    .buffer_rows = tensors.buffer_rows,
                                    .positions = tensors.attention.positions,
                                    .out = ids}));
  Tensor hidden =
      TRY(stream_->workspace().tensor(DType::kF32, {batch.total_tokens, geometry().hidden_size}));
  TRY(model_.model->forward(context, ids, hidden));
  output.prompt_logprobs = TRY(prompt_logprobs(batch, context, hidden));
  output.drawn = TRY(draw(batch, context, hidden));
  TRY(stream_->synchronize());
  return output;
}

Status ModelRunner::start_sequences(const ScheduledBatch& batch) {
  for (const SequenceId id : batch.dropped) {
    sequences_->drop(id);
  }
  for (const StartedSequence& started : batch.started) {
    const RunnerSequence& sequence = sequences_->start(started);
    CHECK_LE(static_cast<std::int64_t>(started.tokens.size()), plan_.max_model_len);
    const Tensor row = token_buffer_.slice(0, sequence.buffer_row, 1);
    TRY(stream_->copy_in(row.data, std::as_bytes(std::span(started.tokens))));
  }
  for (const ScheduledSequence& scheduled : batch.sequences) {
    GroupBlocks& blocks = sequences_->at(scheduled.id).blocks;
    blocks.resize(plan_.layout.groups.size());
    for (std::size_t group = 0; group < blocks.size(); ++group) {
      const std::vector<BlockId>& added = scheduled.new_blocks[group];
      blocks[group].insert(blocks[group].end(), added.begin(), added.end());
    }
  }
  return {};
}

Result<Tensor> ModelRunner::logits_of_rows(const Context& context, const Tensor& hidden,
                                           const std::vector<std::int32_t>& rows) {
  Workspace& workspace = stream_->workspace();
  const auto count = static_cast<std::int64_t>(rows.size());
  Tensor logits = TRY(workspace.tensor(DType::kF32, {count, geometry().vocab_size}));
  Workspace::Scope scope(workspace);
  Tensor chosen = TRY(workspace.tensor(DType::kF32, {count, hidden.dim(1)}));
  const Tensor indices = TRY(upload(*stream_, rows));
  TRY(ops::gather_rows(*stream_, {.x = hidden, .rows = indices, .out = chosen}));
  TRY(model_.model->logits(context, chosen, logits));
  return logits;
}

Result<std::vector<DrawnToken>> ModelRunner::draw(const ScheduledBatch& batch,
                                                  const Context& context, const Tensor& hidden) {
  std::vector<std::int32_t> last_rows;
  std::vector<SampleRow> rows;
  std::int64_t end_row = 0;
  for (const ScheduledSequence& scheduled : batch.sequences) {
    end_row += scheduled.count;
    if (!scheduled.samples) {
      continue;
    }
    const RunnerSequence& sequence = sequences_->at(scheduled.id);
    last_rows.push_back(static_cast<std::int32_t>(end_row - 1));
    rows.push_back({.sampling = &sequence.sampling,
                    .seed = sequence.seed,
                    .buffer_row = sequence.buffer_row,
                    .prompt_len = static_cast<std::int32_t>(sequence.prompt_len),
                    .total_len = static_cast<std::int32_t>(scheduled.start + scheduled.count),
                    .eos_ids = options_.eos_ids});
  }
  if (rows.empty()) {
    return std::vector<DrawnToken>();
  }
  Workspace::Scope scope(stream_->workspace());
  Tensor logits = TRY(logits_of_rows(context, hidden, last_rows));
  return draw_tokens(*stream_, logits, token_buffer_, rows);
}

Result<std::vector<PromptLogprobs>> ModelRunner::prompt_logprobs(const ScheduledBatch& batch,
                                                                 const Context& context,
                                                                 const Tensor& hidden) {
  std::vector<PromptLogprobs> all;
  std::int64_t first_row = 0;
  for (const ScheduledSequence& scheduled : batch.sequences) {
    if (sequences_->at(scheduled.id).sampling.prompt_logprobs) {
      PromptLogprobs logprobs = TRY(prompt_logprobs_of(scheduled, first_row, context, hidden));
      if (!logprobs.logprobs.empty()) {
        all.push_back(std::move(logprobs));
      }
    }
    first_row += scheduled.count;
  }
  return all;
}

Result<PromptLogprobs> ModelRunner::prompt_logprobs_of(const ScheduledSequence& scheduled,
                                                       std::int64_t first_row,
                                                       const Context& context,
                                                       const Tensor& hidden) {
  const RunnerSequence& sequence = sequences_->at(scheduled.id);
  PromptLogprobs result = {.id = scheduled.id, .first = scheduled.start + 1, .logprobs = {}};
  // Position p predicts token p + 1; the last prompt token predicts the first token of the output.
  const std::int64_t end = std::min(scheduled.start + scheduled.count, sequence.prompt_len - 1);
  for (std::int64_t begin = scheduled.start; begin < end; begin += kLogitRows) {
    Workspace::Scope scope(stream_->workspace());
    const std::int64_t count = std::min(kLogitRows, end - begin);
    std::vector<std::int32_t> rows;
    std::vector<std::int32_t> next_positions;
    for (std::int64_t i = 0; i < count; ++i) {
      rows.push_back(static_cast<std::int32_t>(first_row + begin - scheduled.start + i));
      next_positions.push_back(static_cast<std::int32_t>(begin + i + 1));
    }
    const Tensor logits = TRY(logits_of_rows(context, hidden, rows));
    const Tensor tokens = TRY(stream_->workspace().tensor(DType::kI32, {count}));
    const Tensor buffer_rows =
        TRY(upload(*stream_, std::vector<std::int32_t>(rows.size(), sequence.buffer_row)));
    const Tensor positions = TRY(upload(*stream_, next_positions));
    TRY(ops::gather_tokens(*stream_, {.token_buffer = token_buffer_,
                                      .buffer_rows = buffer_rows,
                                      .positions = positions,
                                      .out = tokens}));
    std::vector<TokenLogprob> logprobs =
        TRY(read_logprobs(*stream_, logits, tokens, *sequence.sampling.prompt_logprobs, {}));
    std::move(logprobs.begin(), logprobs.end(), std::back_inserter(result.logprobs));
  }
  return result;
}

}  // namespace godwit
