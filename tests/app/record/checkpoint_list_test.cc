#include "pando/app/record/checkpoint_list.h"

#include <chrono>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::app {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

TEST(CheckpointList, ANameTellsItsEpoch) {
  EXPECT_EQ(epoch_of("epoch_3.0.h5"), 3.0);
  EXPECT_EQ(epoch_of("epoch_2.9328.h5"), 2.9328);
  EXPECT_EQ(epoch_of("epoch_12.h5"), 12.0);
  EXPECT_EQ(epoch_of("epoch_1e-05.h5"), 1e-5);
  for (const char* name :
       {"epoch_.h5", "epoch_h5", ".h5", "epoch_x.h5", "epoch_1.0.h5.part", "epoch_-1.0.h5",
        "epoch_nan.h5", "epoch_1e999.h5", "epoch_0x1.h5", "epoch_1.0 .h5", "my_epoch_1.0.h5"}) {
    EXPECT_FALSE(epoch_of(name).has_value()) << name;
  }
}

TEST(CheckpointList, OrderIsThatOfEpochsNotOfNames) {
  const TempFolder folder;
  for (const char* name : {"epoch_10.0.h5", "epoch_9.0.h5", "epoch_9.5.h5", "epoch_100.0.h5"}) {
    folder.write_text(name, "x");
  }
  std::vector<double> epochs;
  for (const CheckpointFile& file : checkpoints_in(folder.path())) {
    epochs.push_back(file.epoch);
    EXPECT_EQ(epoch_of(file.path.filename().string()), file.epoch);
    EXPECT_TRUE(std::filesystem::exists(file.path));
  }
  EXPECT_EQ(epochs, (std::vector<double>{9, 9.5, 10, 100}));
}

TEST(CheckpointList, OtherFilesDoNotCount) {
  const TempFolder folder;
  folder.write_text("epoch_1.0.h5", "x");
  folder.write_text(".epoch_2.0.h5.Xa81bc", "x");
  folder.write_text(".epoch_2.0.h5", "x");
  folder.write_text("epoch_2.0.h5.part", "x");
  folder.write_text("best.h5", "x");
  folder.write_text("aa.h5", "x");
  folder.write_text("log.txt", "x");
  std::filesystem::create_directory(folder.path("epoch_3.0.h5"));
  std::filesystem::create_symlink("nowhere", folder.path("epoch_4.0.h5"));
  const std::vector<CheckpointFile> found = checkpoints_in(folder.path());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].epoch, 1);
  EXPECT_EQ(unnumbered_weights_in(folder.path()),
            (std::vector<std::filesystem::path>{folder.path("aa.h5"), folder.path("best.h5")}));
}

TEST(CheckpointList, AnEmptyFolderHasNone) {
  const TempFolder folder;
  EXPECT_TRUE(checkpoints_in(folder.path()).empty());
  EXPECT_TRUE(unnumbered_weights_in(folder.path()).empty());
}

TEST(CheckpointList, AMissingFolderIsNamed) {
  const TempFolder folder;
  const std::string error = error_of<IoError>([&] { checkpoints_in(folder.path("no")); });
  EXPECT_SAYS(error, folder.path("no") + ": No such file or directory");
  EXPECT_SAYS(error, "epoch_<number>.h5");
  const std::string file = folder.write_text("epoch_1.0.h5", "x");
  EXPECT_SAYS(error_of<IoError>([&] { unnumbered_weights_in(file); }), "Not a directory");
}

}  // namespace
}  // namespace pando::app
