#include "runner/device_batch.h"

#include <algorithm>

#include "base/check.h"
#include "device/upload.h"

namespace godwit {
namespace {

/// The host side of a DeviceBatch.
struct HostBatch {
  std::vector<std::int32_t> buffer_rows;
  std::vector<std::int32_t> positions;
  std::vector<std::int64_t> slots;
  std::vector<std::int32_t> query_start = {0};
  std::vector<std::int32_t> context_lens;
  std::vector<std::int32_t> block_tables;
};

void append_tokens(HostBatch& host, const ScheduledSequence& scheduled,
                   const RunnerSequence& sequence, std::int64_t block_size) {
  const std::int64_t end = scheduled.start + scheduled.count;
  CHECK_LE(end, static_cast<std::int64_t>(sequence.blocks.size()) * block_size);
  for (std::int64_t position = scheduled.start; position < end; ++position) {
    const auto block =
        static_cast<std::int64_t>(sequence.blocks[static_cast<std::size_t>(position / block_size)]);
    host.buffer_rows.push_back(sequence.buffer_row);
    host.positions.push_back(static_cast<std::int32_t>(position));
    host.slots.push_back(block * block_size + position % block_size);
  }
  host.query_start.push_back(static_cast<std::int32_t>(host.positions.size()));
  host.context_lens.push_back(static_cast<std::int32_t>(end));
}

void append_block_table(HostBatch& host, const RunnerSequence& sequence, std::int64_t max_blocks) {
  for (const BlockId block : sequence.blocks) {
    host.block_tables.push_back(static_cast<std::int32_t>(block));
  }
  host.block_tables.resize(host.block_tables.size() + static_cast<std::size_t>(max_blocks) -
                           sequence.blocks.size());
}

}  // namespace

Result<DeviceBatch> make_device_batch(Stream& stream, const ScheduledBatch& batch,
                                      SequenceTable& sequences, std::int64_t block_size) {
  std::int64_t max_blocks = 1;
  for (const ScheduledSequence& scheduled : batch.sequences) {
    const auto blocks = static_cast<std::int64_t>(sequences.at(scheduled.id).blocks.size());
    max_blocks = std::max(max_blocks, blocks);
  }
  HostBatch host;
  for (const ScheduledSequence& scheduled : batch.sequences) {
    const RunnerSequence& sequence = sequences.at(scheduled.id);
    append_tokens(host, scheduled, sequence, block_size);
    append_block_table(host, sequence, max_blocks);
  }
  DeviceBatch device;
  device.buffer_rows = TRY(upload(stream, host.buffer_rows));
  device.attention.positions = TRY(upload(stream, host.positions));
  device.attention.slots = TRY(upload(stream, host.slots));
  device.attention.query_start = TRY(upload(stream, host.query_start));
  device.attention.context_lens = TRY(upload(stream, host.context_lens));
  device.attention.block_tables = TRY(upload(
      stream, host.block_tables, {static_cast<std::int64_t>(batch.sequences.size()), max_blocks}));
  return device;
}

}  // namespace godwit
