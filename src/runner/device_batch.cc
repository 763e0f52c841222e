#include "runner/device_batch.h"

#include <algorithm>

#include "base/check.h"
#include "device/upload.h"

namespace godwit {
namespace {

/// The host side of a DeviceBatch but for its tables.
struct HostBatch {
  std::vector<std::int32_t> buffer_rows;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> query_start = {0};
  std::vector<std::int32_t> context_lens;
};

void append_tokens(HostBatch& host, const ScheduledSequence& scheduled,
                   const RunnerSequence& sequence) {
  const std::int64_t end = scheduled.start + scheduled.count;
  for (std::int64_t position = scheduled.start; position < end; ++position) {
    host.buffer_rows.push_back(sequence.buffer_row);
    host.positions.push_back(static_cast<std::int32_t>(position));
  }
  host.query_start.push_back(static_cast<std::int32_t>(host.positions.size()));
  host.context_lens.push_back(static_cast<std::int32_t>(end));
}

/// Where the positions of a step and what they read lie in the pages of one group.
Result<CacheTables> make_tables(Stream& stream, const ScheduledBatch& batch,
                                SequenceTable& sequences, const CacheLayout& layout,
                                std::size_t group) {
  std::size_t width = 1;
  for (const ScheduledSequence& scheduled : batch.sequences) {
    width = std::max(width, sequences.at(scheduled.id).blocks[group].size());
  }
  std::vector<std::int64_t> slots;
  std::vector<std::int32_t> tables;
  for (const ScheduledSequence& scheduled : batch.sequences) {
    const std::vector<BlockId>& blocks = sequences.at(scheduled.id).blocks[group];
    const std::int64_t end = scheduled.start + scheduled.count;
    CHECK_LE(end, static_cast<std::int64_t>(blocks.size()) * layout.block_size);
    const std::size_t row = tables.size();
    tables.resize(row + width, -1);
    // What was released since is not this sequence's any more.
    const std::int64_t oldest =
        layout.groups[group].retention.first_needed(scheduled.start) / layout.block_size;
    for (std::size_t i = static_cast<std::size_t>(oldest); i < blocks.size(); ++i) {
      tables[row + i] = static_cast<std::int32_t>(layout.place(group, blocks[i]));
    }
    for (std::int64_t position = scheduled.start; position < end; ++position) {
      const std::int64_t place =
          tables[row + static_cast<std::size_t>(position / layout.block_size)];
      CHECK_GE(place, 0);
      slots.push_back(place * layout.block_size + position % layout.block_size);
    }
  }
  const auto rows = static_cast<std::int64_t>(batch.sequences.size());
  return CacheTables{
      .slots = TRY(upload(stream, slots)),
      .block_tables = TRY(upload(stream, tables, {rows, static_cast<std::int64_t>(width)}))};
}

/// Where the sequences' states lie before this step, and which it saves.
Result<CacheTables> make_state_tables(Stream& stream, const ScheduledBatch& batch,
                                      SequenceTable& sequences, const CacheLayout& layout,
                                      std::size_t group) {
  std::vector<std::int32_t> sources;
  std::vector<std::int32_t> save_start = {0};
  std::vector<std::int32_t> save_ends;
  std::vector<std::int32_t> save_places;
  const auto place = [&](BlockId id) {
    CHECK(id != kNoBlock);
    return static_cast<std::int32_t>(layout.place(group, id));
  };
  std::int64_t row = 0;  // Of the step's tokens, the sequence's first.
  for (const ScheduledSequence& scheduled : batch.sequences) {
    const std::vector<BlockId>& blocks = sequences.at(scheduled.id).blocks[group];
    const std::int64_t end = scheduled.start + scheduled.count;
    const auto first = static_cast<std::size_t>(scheduled.start / layout.block_size);
    const auto last = static_cast<std::size_t>((end - 1) / layout.block_size);
    const auto source = static_cast<std::size_t>((scheduled.start - 1) / layout.block_size);
    CHECK_LT(last, blocks.size());
    sources.push_back(scheduled.start == 0 ? -1 : place(blocks[source]));
    for (std::size_t i = first; i < last; ++i) {
      // A block that goes on to the end of the step holds nothing here.
      if (blocks[i] != kNoBlock && blocks[i] != blocks[last]) {
        const std::int64_t block_end = static_cast<std::int64_t>(i + 1) * layout.block_size;
        save_ends.push_back(static_cast<std::int32_t>(row + block_end - scheduled.start));
        save_places.push_back(place(blocks[i]));
      }
    }
    row += scheduled.count;
    save_ends.push_back(static_cast<std::int32_t>(row));
    save_places.push_back(place(blocks[last]));
    save_start.push_back(static_cast<std::int32_t>(save_ends.size()));
  }
  CacheTables tables;
  tables.states = {.sources = TRY(upload(stream, sources)),
                   .save_start = TRY(upload(stream, save_start)),
                   .save_ends = TRY(upload(stream, save_ends)),
                   .save_places = TRY(upload(stream, save_places))};
  return tables;
}

}  // namespace

Result<DeviceBatch> make_device_batch(Stream& stream, const ScheduledBatch& batch,
                                      SequenceTable& sequences, const CacheLayout& layout) {
  HostBatch host;
  for (const ScheduledSequence& scheduled : batch.sequences) {
    append_tokens(host, scheduled, sequences.at(scheduled.id));
  }
  DeviceBatch device;
  device.buffer_rows = TRY(upload(stream, host.buffer_rows));
  device.attention.positions = TRY(upload(stream, host.positions));
  device.attention.query_start = TRY(upload(stream, host.query_start));
  device.attention.context_lens = TRY(upload(stream, host.context_lens));
  for (std::size_t group = 0; group < layout.groups.size(); ++group) {
    const auto make = layout.groups[group].is_state() ? &make_state_tables : &make_tables;
    device.attention.groups.push_back(TRY(make(stream, batch, sequences, layout, group)));
  }
  return device;
}

}  // namespace godwit
