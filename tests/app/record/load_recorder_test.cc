#include "pando/app/record/load_recorder.h"

#include <gtest/gtest.h>

#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

using std::chrono::milliseconds;

// Works until the file has this many rows of the first minute.
void work_until(const std::filesystem::path& folder, size_t wanted) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    const std::vector<LoadRow> rows = read_load(folder);
    if (rows.size() >= wanted && rows[wanted - 1].seconds < 60) return;
  }
}

TEST(LoadRecorder, WritesRowsWhileItLives) {
  const TestFolder folder;
  {
    const LoadRecorder recorder({.folder = folder.path, .period = milliseconds(20)});
    work_until(folder.path, 3);
  }
  const std::vector<LoadRow> rows = read_load(folder.path);
  ASSERT_GE(rows.size(), 3u);
  EXPECT_LT(rows[0].seconds, rows[1].seconds);
  EXPECT_GT(rows[1].process_percent, 0);
  EXPECT_LE(rows[1].machine_percent, 100);
  EXPECT_GT(rows[1].resident_bytes, 1e6);
}

TEST(LoadRecorder, SaysWhyItEnded) {
  const TestFolder folder;
  LoadRecorder recorder({.folder = folder.path / "missing"});
  EXPECT_NE(recorder.stop().find("missing/load.csv"), std::string::npos) << recorder.stop();
  LoadRecorder fine({.folder = folder.path});
  EXPECT_EQ(fine.stop(), "");
}

TEST(LoadRecorder, IsBounded) {
  const TestFolder folder;
  {
    const LoadRecorder recorder(
        {.folder = folder.path, .period = milliseconds(11), .most_rows = 4});
    std::this_thread::sleep_for(milliseconds(400));
  }
  const std::vector<LoadRow> rows = read_load(folder.path);
  EXPECT_GE(rows.size(), 2u);
  EXPECT_LE(rows.size(), 5u);
  EXPECT_GT(rows.back().seconds, 0.3);  // the end of the run is there
}

TEST(LoadRecorder, ContinuesTheRowsOfAResumedRun) {
  const TestFolder folder;
  folder.write(kLoadFile,
               "seconds,...\n1.0,50,60,70,0,0\n2.0,50,60,70,0,0\n99.0,1,1,1,1,1\n3,brok");
  {
    const LoadRecorder recorder(
        {.folder = folder.path, .seconds_before = 2.5, .period = milliseconds(20)});
    work_until(folder.path, 3);
  }
  const std::vector<LoadRow> rows = read_load(folder.path);
  ASSERT_GE(rows.size(), 3u);
  EXPECT_EQ(rows[1].seconds, 2);
  EXPECT_GT(rows[2].seconds, 2.5);  // the row of second 99 is gone
  EXPECT_LT(rows[2].seconds, 99);
}

// A run without a folder to write to goes on.
TEST(LoadRecorder, EndsQuietlyWhereItCannotWrite) {
  const TestFolder folder;
  const LoadRecorder recorder({.folder = folder.path / "none", .period = milliseconds(11)});
  EXPECT_TRUE(read_load(folder.path / "none").empty());
}

TEST(LoadRecorder, JoinsNeighbouringRows) {
  const std::vector<LoadRow> rows = {
      {1, 100, 10, 5, 8, 0}, {4, 0, 50, 3, 0, 4}, {5, 7, 7, 7, 7, 7}};
  const std::vector<LoadRow> joined = halved(rows, 0);
  ASSERT_EQ(joined.size(), 2u);
  EXPECT_EQ(joined[0].seconds, 4);
  EXPECT_EQ(joined[0].process_percent, 25);  // one second of four
  EXPECT_EQ(joined[0].machine_percent, 40);
  EXPECT_EQ(joined[0].resident_bytes, 5);
  EXPECT_EQ(joined[0].read_per_second, 2);
  EXPECT_EQ(joined[0].written_per_second, 3);
  EXPECT_EQ(joined[1].seconds, 5);
}

}  // namespace
}  // namespace pando::app
