#include "runner/sequence_table.h"

#include <set>

#include <gtest/gtest.h>

namespace godwit {
namespace {

StartedSequence started(std::int64_t id) {
  return {.id = SequenceId{id}, .tokens = {1, 2}, .prompt_len = 2, .sampling = {}, .seed = id};
}

TEST(SequenceTableTest, EachSequenceHasARowOfItsOwn) {
  SequenceTable table(3);
  std::set<std::int32_t> rows;
  for (const std::int64_t id : {7, 8, 9}) {
    rows.insert(table.start(started(id)).buffer_row);
  }
  EXPECT_EQ(rows, (std::set<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(table.at(SequenceId{8}).seed, 8);
}

TEST(SequenceTableTest, ADroppedRowIsUsedAgainAndItsBlocksAreForgotten) {
  SequenceTable table(1);
  table.start(started(1)).blocks = {{BlockId{4}}};
  table.drop(SequenceId{1});
  table.drop(SequenceId{1});  // It is gone already.
  EXPECT_EQ(table.size(), 0);
  EXPECT_EQ(table.start(started(1)).buffer_row, 0);
  EXPECT_TRUE(table.at(SequenceId{1}).blocks.empty());
}

TEST(SequenceTableDeathTest, MoreThanMaxNumSeqsIsABug) {
  SequenceTable table(1);
  table.start(started(1));
  EXPECT_DEATH(table.start(started(2)), "free_rows_");
  EXPECT_DEATH(table.at(SequenceId{2}), "CHECK failed");
}

}  // namespace
}  // namespace godwit
