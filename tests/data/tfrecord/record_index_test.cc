#include "pando/data/tfrecord/record_index.h"

#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/data/record_files.h"
#include "tests/support/expect_error.h"

namespace pando::data {
namespace {

namespace fs = std::filesystem;

class RecordIndexTest : public testing::Test {
 protected:
  // Files with 0, 1, 2, ... records of growing length.
  RecordIndexTest() {
    size_t length = 0;
    for (int file = 0; file < 6; ++file) {
      std::vector<Bytes> payloads;
      std::vector<uint64_t> lengths;
      for (int i = 0; i < file; ++i) {
        lengths.push_back(length);
        payloads.emplace_back(length++, uint8_t{7});
      }
      wanted_.push_back({.lengths = lengths, .bad = {}});
      paths_.push_back(folder_.write(concat("file", file), records(payloads)));
    }
    index_folder_ = folder_.path("deep/index");
    kept_at_ = index_path(index_folder_, paths_);
  }

  std::vector<FileIndex> index(int workers = 1) const {
    return index_records(paths_, {.workers = workers, .folder = index_folder_});
  }
  // Writes other lengths into a valid index, which shows whether the index is used.
  void damage_all_records() const {
    for (size_t i = 1; i < paths_.size(); ++i) {
      const auto time = fs::last_write_time(paths_[i]);
      const auto size = fs::file_size(paths_[i]);
      std::ofstream(paths_[i], std::ios::binary) << std::string(size, 'x');
      fs::last_write_time(paths_[i], time);
    }
  }

  TempFolder folder_;
  std::vector<std::string> paths_;
  std::vector<FileIndex> wanted_;
  std::string index_folder_;
  std::string kept_at_;
};

TEST_F(RecordIndexTest, SameForAnyNumberOfWorkers) {
  for (const int workers : {1, 2, 5, 20}) {
    EXPECT_EQ(index_records(paths_, {.workers = workers}), wanted_);
  }
}

TEST_F(RecordIndexTest, IsKeptAndNotMadeAgain) {
  EXPECT_EQ(index(), wanted_);
  ASSERT_TRUE(fs::exists(kept_at_));
  damage_all_records();
  EXPECT_EQ(index(), wanted_);
  EXPECT_TRUE(index_records(paths_, {})[3].bad);
}

TEST_F(RecordIndexTest, AChangedFileMakesItStale) {
  index();
  damage_all_records();
  fs::last_write_time(paths_[2], fs::last_write_time(paths_[2]) + std::chrono::seconds(1));
  EXPECT_TRUE(index()[3].bad);
}

TEST_F(RecordIndexTest, AStaleOneIsReplaced) {
  index();
  paths_[5] = folder_.write("file5", {});
  wanted_[5].lengths.clear();
  EXPECT_EQ(index(), wanted_);
  damage_all_records();
  EXPECT_EQ(index()[4], wanted_[4]);
  EXPECT_EQ(std::distance(fs::directory_iterator(index_folder_), {}), 1);
}

TEST_F(RecordIndexTest, ADamagedOneIsReplaced) {
  index();
  const std::string good = folder_.read("deep/index/" + fs::path(kept_at_).filename().string());
  for (size_t byte = 0; byte < good.size(); byte += 13) {
    std::string bad = good;
    bad[byte] = static_cast<char>(bad[byte] ^ 0x10);
    std::ofstream(kept_at_, std::ios::binary) << bad;
    EXPECT_EQ(index(), wanted_) << byte;
    EXPECT_EQ(fs::file_size(kept_at_), good.size());
  }
  for (const size_t kept : {size_t{0}, size_t{3}, good.size() / 2, good.size() - 1}) {
    std::ofstream(kept_at_, std::ios::binary) << good.substr(0, kept);
    EXPECT_EQ(index(), wanted_) << kept;
    EXPECT_EQ(fs::file_size(kept_at_), good.size());
  }
}

TEST_F(RecordIndexTest, BelongsToOtherFilesAndLimits) {
  index();
  damage_all_records();
  const std::vector<std::string> fewer(paths_.begin(), paths_.end() - 1);
  EXPECT_NE(index_path(index_folder_, fewer), kept_at_);
  EXPECT_TRUE(index_records(paths_, {.most_record_bytes = 10, .folder = index_folder_})[3].bad);
}

TEST_F(RecordIndexTest, DamagedFilesAreNotKept) {
  damage_all_records();
  EXPECT_TRUE(index()[1].bad);
  EXPECT_FALSE(fs::exists(kept_at_));
}

TEST_F(RecordIndexTest, AFolderThatCannotBeWrittenIsNoError) {
  index_folder_ = folder_.write("no folder", {1});
  EXPECT_EQ(index(), wanted_);
  EXPECT_EQ(index(), wanted_);
}

TEST_F(RecordIndexTest, AnIndexThatCannotBeReadIsNoError) {
  fs::create_directories(kept_at_);
  EXPECT_EQ(index(), wanted_);
}

TEST_F(RecordIndexTest, AMissingFileIsNamed) {
  paths_[2] = folder_.path("absent");
  paths_[4] = folder_.path("absent too");
  for (const int workers : {1, 4}) {
    EXPECT_SAYS(testing_support::error_of<IoError>([&] { index(workers); }), paths_[2] + ": ");
  }
}

}  // namespace
}  // namespace pando::data
