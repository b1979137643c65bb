// SPDX-License-Identifier: MIT
#include "pando/board/folder.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace pando::board {
namespace {

namespace fs = std::filesystem;
using testing_support::TempFolder;

struct BoardFolder : testing::Test {
  void SetUp() override {
    fs::create_directories(root.path("a/b"));
    fs::create_directories(root.path(".hidden"));
    fs::create_directory_symlink("a", root.path("link"));
    root.write_text("a/file", "0123456789");
    fs::create_symlink("file", root.path("a/linked"));
  }
  TempFolder root;
};

TEST_F(BoardFolder, NamesLeadInsideOnly) {
  const std::optional<Folder> folder = Folder::open(root.path());
  ASSERT_TRUE(folder);
  EXPECT_TRUE(folder->inside("a/b"));
  EXPECT_TRUE(folder->inside("."));
  for (const char* path :
       {"..", "a/..", "a/../a", "./a", "", "/", "/etc", "a//b", "a/", "link", "link/b", "a/file"}) {
    EXPECT_FALSE(folder->inside(path)) << path;
  }
  EXPECT_FALSE(Folder::open(root.path("nowhere")));
  EXPECT_TRUE(Folder::open(root.path("link")));  // what the user named himself
}

TEST_F(BoardFolder, ListsFoldersAgainAndAgain) {
  const std::optional<Folder> folder = Folder::open(root.path());
  EXPECT_EQ(folder->folder_names(), std::vector<std::string>{"a"});
  fs::create_directories(root.path("c"));
  std::vector<std::string> names = folder->folder_names();
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "c"}));
}

TEST_F(BoardFolder, ReadsPlainFiles) {
  const std::optional<Folder> folder = Folder::open(root.path("a"));
  EXPECT_EQ(folder->read("file", 0, 10)->text, "0123456789");
  EXPECT_EQ(folder->read("file", 7, 10)->text, "789");
  EXPECT_EQ(folder->read("file", 20, 10)->text, "");
  EXPECT_FALSE(folder->read("file", 0, 9));  // larger than it may be
  EXPECT_FALSE(folder->read("linked", 0, 10));
  EXPECT_FALSE(folder->read("b", 0, 10));
  EXPECT_FALSE(folder->read("nowhere", 0, 10));
  EXPECT_TRUE(folder->has_file("file"));
  EXPECT_FALSE(folder->has_file("linked"));
  const std::optional<FileStamp> before = folder->stamp_of("file");
  EXPECT_EQ(folder->read("file", 0, 10)->stamp, *before);
  root.write_text("a/file", "01234567891");
  EXPECT_NE(folder->stamp_of("file"), before);
  EXPECT_TRUE(folder->stamp_of("file")->is_same_file(*before));
  root.write_text("a/other", "0123456789");
  fs::rename(root.path("a/other"), root.path("a/file"));
  EXPECT_FALSE(folder->stamp_of("file")->is_same_file(*before));
}

}  // namespace
}  // namespace pando::board
