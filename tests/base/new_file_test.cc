#include "pando/base/new_file.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

using testing_support::TempFolder;
using Bytes = std::vector<uint8_t>;

TEST(NewFile, AppearsWhole) {
  const TempFolder directory;
  const std::string path = directory.path("file");
  NewFile file(path);
  file.write(Bytes{1, 2});
  EXPECT_FALSE(fs::exists(path));
  file.write(Bytes{3});
  file.commit();
  EXPECT_EQ(directory.read("file"), "\x01\x02\x03");
  EXPECT_EQ(directory.entries(), 1);
}

TEST(NewFile, LeavesTheOldOneWithoutCommit) {
  const TempFolder directory;
  const std::string path = directory.write("file", {9});
  { NewFile(path).write(Bytes{1}); }
  EXPECT_EQ(directory.read("file"), "\x09");
  EXPECT_EQ(directory.entries(), 1);
}

TEST(NewFile, TwoWritersDoNotMix) {
  const TempFolder directory;
  NewFile first(directory.path("file"));
  NewFile second(directory.path("file"));
  first.write(Bytes{1});
  second.write(Bytes{2});
  first.commit();
  second.commit();
  EXPECT_EQ(directory.read("file"), "\x02");
}

TEST(NewFile, KeepsLinksAndPermissions) {
  const TempFolder directory;
  const std::string path = directory.write("file", {9});
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("file", directory.path("link"));
  NewFile file(directory.path("link"));
  file.write(Bytes{1});
  file.commit();
  EXPECT_TRUE(fs::is_symlink(directory.path("link")));
  EXPECT_EQ(directory.read("file"), "\x01");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(NewFile, WhatCannotBeAFile) {
  const TempFolder directory;
  EXPECT_THROW(NewFile(directory.path()), IoError);
  EXPECT_THROW(NewFile(directory.path("absent/file")), IoError);
  EXPECT_THROW(NewFile("/dev/null"), IoError);
  EXPECT_THROW(NewFile(""), IoError);
}

TEST(NewFile, ADirectoryThatVanishesIsAnError) {
  const TempFolder directory;
  fs::create_directory(directory.path("gone"));
  NewFile file(directory.path("gone/file"));
  file.write(Bytes{1});
  fs::remove_all(directory.path("gone"));
  EXPECT_THROW(file.commit(), IoError);
}

}  // namespace
}  // namespace pando
