// SPDX-License-Identifier: MIT
#include "pando/board/history_tail.h"

#include <gtest/gtest.h>

#include "tests/board/board_runs.h"

namespace pando::board {
namespace {

namespace fs = std::filesystem;
using testing_support::TempFolder;

struct HistoryTailTest : testing::Test {
  HistoryTail::News read() { return tail.read(*Folder::open(folder.path())); }
  std::vector<int64_t> steps() {
    std::vector<int64_t> steps;
    for (const app::HistoryRow& row : read().rows) steps.push_back(row.step);
    return steps;
  }
  app::HistoryWriter writer(const std::vector<app::HistoryRow>& kept = {}) const {
    return {folder.path("history.csv"), folder.path("history.json"), kept};
  }
  // What a process has written so far when it is interrupted.
  void write(const std::string& text) const { folder.write_text("history.json", text); }

  TempFolder folder;
  HistoryTail tail;
};

using Steps = std::vector<int64_t>;

TEST_F(HistoryTailTest, ReadsEveryAppendedByteOnce) {
  EXPECT_EQ(steps(), Steps{});
  app::HistoryWriter history = writer();
  EXPECT_EQ(steps(), Steps{});
  int64_t reads = 1;
  for (int64_t step = 1; step <= 200; step += 2) {
    history.append(row_at(step));
    history.append(row_at(step + 1));
    EXPECT_EQ(steps(), (Steps{step, step + 1}));
    ++reads;
    EXPECT_EQ(steps(), Steps{});  // nothing new: nothing is read
  }
  // The end of the array, which the next row is written over, is read again: up to four bytes.
  const auto bytes = static_cast<int64_t>(fs::file_size(folder.path("history.json")));
  EXPECT_GE(tail.bytes_read(), bytes);
  EXPECT_LE(tail.bytes_read(), bytes + 4 * reads);
}

TEST_F(HistoryTailTest, LinesThatAreNotCompleteWait) {
  write("[\n{\"epoch\":0.1,\"step\":1,\"loss\":0.5},\n{\"epoch\":0.2,\"st");
  EXPECT_EQ(steps(), Steps{1});
  write("[\n{\"epoch\":0.1,\"step\":1,\"loss\":0.5},\n{\"epoch\":0.2,\"step\":2,\"loss\":0.25}");
  EXPECT_EQ(steps(), Steps{});  // its end may follow
  write(
      "[\n{\"epoch\":0.1,\"step\":1,\"loss\":0.5},\n{\"epoch\":0.2,\"step\":2,\"loss\":0.25}\n]\n");
  EXPECT_EQ(steps(), Steps{2});
  EXPECT_EQ(tail.skipped(), 0);
}

TEST_F(HistoryTailTest, DamagedLinesAreSkipped) {
  write(
      "[\n{\"epoch\":0.1,\"step\":1},\n{\"epoch\":0.2,\"st\nno "
      "row\n{\"epoch\":0.3,\"step\":3}\n]\n");
  EXPECT_EQ(steps(), (Steps{1, 3}));
  EXPECT_EQ(tail.skipped(), 2);
}

TEST_F(HistoryTailTest, AReplacedFileIsReadFromItsBeginning) {
  {
    app::HistoryWriter history = writer();
    for (int64_t step = 1; step <= 5; ++step) history.append(row_at(step));
  }
  EXPECT_EQ(steps().size(), 5u);
  app::HistoryWriter resumed = writer({row_at(1), row_at(2)});  // from a checkpoint
  resumed.append(row_at(7));
  const HistoryTail::News news = read();
  EXPECT_TRUE(news.restarted);
  ASSERT_EQ(news.rows.size(), 3u);
  EXPECT_EQ(news.rows[2].step, 7);
  EXPECT_FALSE(read().restarted);
}

TEST_F(HistoryTailTest, AFileThatBecameShorterIsReadFromItsBeginning) {
  write("[\n{\"epoch\":0.1,\"step\":1},\n{\"epoch\":0.2,\"step\":2}\n]\n");
  EXPECT_EQ(steps(), (Steps{1, 2}));
  write("[\n{\"epoch\":0.4,\"step\":4}\n]\n");
  const HistoryTail::News news = read();
  EXPECT_TRUE(news.restarted);
  ASSERT_EQ(news.rows.size(), 1u);
  EXPECT_EQ(news.rows[0].step, 4);
}

TEST_F(HistoryTailTest, AFileThatVanishesChangesNothing) {
  write("[\n{\"epoch\":0.1,\"step\":1}\n]\n");
  EXPECT_EQ(steps(), Steps{1});
  fs::remove(folder.path("history.json"));
  const HistoryTail::News news = read();
  EXPECT_FALSE(news.restarted);
  EXPECT_TRUE(news.rows.empty());
}

}  // namespace
}  // namespace pando::board
