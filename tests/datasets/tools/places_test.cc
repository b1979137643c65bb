// Which files belong to a data set.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/sources/cosmoflow.h"
#include "pando/datasets/tools/places_impl.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::datasets {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

void make_folders(const TempFolder& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) std::filesystem::create_directories(folder.path(name));
}

TEST(PartFolders, TrainAndItsCompanions) {
  const TempFolder folder;
  make_folders(folder, {"validation", "train", ".hidden"});
  const auto parts = part_folders(folder.path());
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "train");
  EXPECT_EQ(parts[1].path, folder.path("validation"));
  EXPECT_EQ(choose_part(folder.path(), false).name, "train");
  EXPECT_EQ(choose_part(folder.path(), true).name, "validation");
}

TEST(PartFolders, FurtherFoldersDoNotMatterBesideBothParts) {
  const TempFolder folder;
  make_folders(folder, {"validation", "train", "notes"});
  const auto parts = part_folders(folder.path());
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].path, folder.path("train"));
  make_folders(folder, {"notes/train"});
  EXPECT_EQ(part_folders(folder.path("notes"))[0].name, "train");
}

TEST(PartFolders, AClassCalledTrainIsNoPart) {
  const TempFolder folder;
  make_folders(folder, {"train", "truck"});
  const auto parts = part_folders(folder.path());
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].name, "all");
  EXPECT_EQ(parts[0].path, folder.path());
  EXPECT_SAYS(error_of([&] { choose_part(folder.path(), true); }), "part", "testing");
  EXPECT_SAYS(error_of<IoError>([&] { part_folders(folder.path("none")); }), "cannot list");
}

TEST(RecordFiles, ThoseThatAreNamedLikeThem) {
  const TempFolder folder;
  make_folders(folder, {"below"});
  for (const char* name :
       {"labels.txt", "b.tfrecord", "train-00001-of-00002", "below/c.tfrecords", ".d.tfrecord"}) {
    folder.write(name, {1});
  }
  EXPECT_EQ(
      record_files(folder.path()),
      (std::vector<std::string>{folder.path("b.tfrecord"), folder.path("train-00001-of-00002"),
                                folder.path("below/c.tfrecords")}));
  EXPECT_EQ(record_files(folder.path("labels.txt")),
            std::vector<std::string>{folder.path("labels.txt")});
}

TEST(RecordFiles, LinksToFoldersAreLeftOut) {
  const TempFolder folder;
  make_folders(folder, {"below"});
  folder.write("below/a.tfrecord", {1});
  std::filesystem::create_directory_symlink(".", folder.path("loop"));
  std::filesystem::create_symlink("below/a.tfrecord", folder.path("b.tfrecord"));
  EXPECT_EQ(record_files(folder.path()),
            (std::vector<std::string>{folder.path("b.tfrecord"), folder.path("below/a.tfrecord")}));
  EXPECT_EQ(record_files(folder.path("loop")).size(), 2u) << "the folder itself may be one";
}

TEST(RecordFiles, AllWhenNoneIs) {
  const TempFolder folder;
  folder.write("a.bin", {1});
  EXPECT_EQ(record_files(folder.path()), std::vector<std::string>{folder.path("a.bin")});
}

TEST(FilesIn, NamesAFolderThatIsNone) {
  EXPECT_SAYS(error_of<IoError>([] { files_in("/nowhere", is_cosmoflow_file); }), "/nowhere");
}

TEST(MissingShards, AreThoseThatTheNamesPromise) {
  EXPECT_EQ(missing_shards({"d/train-00002-of-00003", "d/train-00000-of-00003", "d/x.tfrecord",
                            "d/test-00000-of-00001", "-of-00002", "a-1-of-2"}),
            std::vector<std::string>{"d/train-00001-of-00003"});
  EXPECT_EQ(missing_shards({"train-99999-of-00001"}),
            std::vector<std::string>{"train-00000-of-00001"});
}

TEST(CosmoflowShape, IsThatOfTheFirstReadableVolume) {
  const TempFolder folder;
  const std::vector<int16_t> counts(6 * 6 * 6 * 4, 3);
  const std::vector<float> targets(4, 0.5f);
  const std::string good = folder.path("b.tfrecord");
  write_cosmoflow_sample(good, {counts, targets});
  const std::string bad = folder.write("a.tfrecord", {1, 2, 3});
  const std::string empty = folder.write("c.tfrecord", {});
  EXPECT_EQ(cosmoflow_shape({bad, empty, good}), (Shape{6, 6, 6, 4}));
  EXPECT_EQ(cosmoflow_shape({bad}), (Shape{128, 128, 128, 4}));
}

}  // namespace
}  // namespace pando::datasets
