// SPDX-License-Identifier: MIT
#include "pando/data/sources/clutter.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/support/temp_folder.h"

namespace pando::data {
namespace {

namespace fs = std::filesystem;

TEST(FilesBelow, FollowsLinksToFoldersButNotInCircles) {
  const testing_support::TempFolder folder;
  fs::create_directories(folder.path("set/own"));
  fs::create_directories(folder.path("elsewhere"));
  folder.write_text("set/own/a.txt", "a");
  folder.write_text("set/.DS_Store", "clutter");
  folder.write_text("elsewhere/b.txt", "b");
  fs::create_directory_symlink(folder.path("elsewhere"), folder.path("set/linked"));
  fs::create_directory_symlink(folder.path("set"), folder.path("set/own/around"));
  fs::create_directory_symlink(folder.path("set"), folder.path("elsewhere/back"));
  EXPECT_EQ(
      files_below(folder.path("set")),
      (std::vector<std::string>{folder.path("set/linked/b.txt"), folder.path("set/own/a.txt")}));
  EXPECT_THROW(files_below(folder.path("none")), IoError);
}

}  // namespace
}  // namespace pando::data
