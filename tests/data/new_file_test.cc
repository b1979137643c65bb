#include "pando/data/tfrecord/new_file.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/data/sources/gzip.h"
#include "tests/data/idx_files.h"

namespace pando::data {
namespace {

namespace fs = std::filesystem;

size_t files_in(const std::string& directory) {
  const fs::directory_iterator files(directory);
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

TEST(NewFile, AppearsWhole) {
  const ScratchDirectory directory;
  const std::string path = directory.path("file");
  NewFile file(path);
  file.write(Bytes{1, 2});
  EXPECT_FALSE(fs::exists(path));
  file.write(Bytes{3});
  file.commit();
  EXPECT_EQ(read_file(path), (Bytes{1, 2, 3}));
  EXPECT_EQ(files_in(directory.path()), 1u);
}

TEST(NewFile, LeavesTheOldOneWithoutCommit) {
  const ScratchDirectory directory;
  const std::string path = directory.write("file", {9});
  { NewFile(path).write(Bytes{1}); }
  EXPECT_EQ(read_file(path), Bytes{9});
  EXPECT_EQ(files_in(directory.path()), 1u);
}

TEST(NewFile, TwoWritersDoNotMix) {
  const ScratchDirectory directory;
  NewFile first(directory.path("file"));
  NewFile second(directory.path("file"));
  first.write(Bytes{1});
  second.write(Bytes{2});
  first.commit();
  second.commit();
  EXPECT_EQ(read_file(directory.path("file")), Bytes{2});
}

TEST(NewFile, KeepsLinksAndPermissions) {
  const ScratchDirectory directory;
  const std::string path = directory.write("file", {9});
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("file", directory.path("link"));
  NewFile file(directory.path("link"));
  file.write(Bytes{1});
  file.commit();
  EXPECT_TRUE(fs::is_symlink(directory.path("link")));
  EXPECT_EQ(read_file(path), Bytes{1});
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(NewFile, WhatCannotBeAFile) {
  const ScratchDirectory directory;
  EXPECT_THROW(NewFile(directory.path()), IoError);
  EXPECT_THROW(NewFile(directory.path("absent/file")), IoError);
  EXPECT_THROW(NewFile("/dev/null"), IoError);
  EXPECT_THROW(NewFile(""), IoError);
}

TEST(NewFile, ADirectoryThatVanishesIsAnError) {
  const ScratchDirectory directory;
  fs::create_directory(directory.path("gone"));
  NewFile file(directory.path("gone/file"));
  file.write(Bytes{1});
  fs::remove_all(directory.path("gone"));
  EXPECT_THROW(file.commit(), IoError);
}

}  // namespace
}  // namespace pando::data
