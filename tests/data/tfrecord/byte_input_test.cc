#include "pando/data/tfrecord/byte_input.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "tests/data/idx_files.h"
#include "tests/support/expect_error.h"

namespace pando::data {
namespace {

Bytes take(ByteInput& input, size_t count) {
  Bytes bytes(count);
  bytes.resize(input.read(bytes));
  return bytes;
}

void expect_front_to_back(ByteInput& input, const Bytes& content) {
  EXPECT_TRUE(input.exact());
  EXPECT_EQ(input.most_left(), content.size());
  Bytes found = take(input, 7);
  EXPECT_EQ(input.most_left(), content.size() - 7);
  EXPECT_EQ(found + take(input, content.size()), content);
  EXPECT_EQ(input.most_left(), 0u);
  EXPECT_TRUE(take(input, 1).empty());
  EXPECT_EQ(input.cut_short(), "");
}

TEST(ByteInput, ReadsFilesMemoryAndWhatWasPushedBack) {
  const TempFolder directory;
  const Bytes content = counting_bytes(100);
  const ByteInputPtr file = open_input(directory.write("file", content));
  expect_front_to_back(*file, content);
  const ByteInputPtr memory = memory_input(content);
  expect_front_to_back(*memory, content);
  for (const size_t front : {0u, 3u, 7u, 9u, 100u}) {
    const ByteInputPtr both = pushed_back(std::span(content).first(front),
                                          memory_input(std::span(content).subspan(front)));
    expect_front_to_back(*both, content);
  }
}

TEST(ByteInput, AFileThatShrinksEndsEarlier) {
  const TempFolder directory;
  const std::string path = directory.write("file", counting_bytes(100));
  const ByteInputPtr input = open_input(path);
  take(*input, 10);
  std::filesystem::resize_file(path, 30);
  EXPECT_EQ(take(*input, 90).size(), 20u);
  EXPECT_EQ(input->most_left(), 0u);
}

TEST(RandomAccessFile, ReadsAnywhere) {
  const TempFolder directory;
  const RandomAccessFile file(directory.write("file", counting_bytes(100)));
  EXPECT_EQ(file.size(), 100u);
  Bytes bytes(10);
  EXPECT_EQ(file.read(50, bytes), 10u);
  EXPECT_EQ(bytes[0], 50);
  EXPECT_EQ(file.read(95, bytes), 5u);
  EXPECT_EQ(file.read(100, bytes), 0u);
  EXPECT_EQ(file.read(1000, bytes), 0u);
}

TEST(ByteInput, WhatCannotBeRead) {
  const TempFolder directory;
  EXPECT_THROW(open_input(directory.path("absent")), IoError);
  EXPECT_THROW(open_input(directory.path()), IoError);
  EXPECT_THROW(open_input("/dev/null"), IoError);
}

TEST(ByteInput, MissingPermissionIsNamed) {
  const TempFolder directory;
  const std::string path = directory.write("file", {1});
  std::filesystem::permissions(path, std::filesystem::perms::none);
  const bool is_root = ::geteuid() == 0;  // root may read everything
  if (is_root && ::seteuid(65534) != 0) GTEST_SKIP() << "cannot give up the rights of root";
  std::string message;
  try {
    open_input(path);
  } catch (const IoError& error) {
    message = error.what();
  }
  const int restored = is_root ? ::seteuid(0) : 0;
  ASSERT_EQ(restored, 0);
  EXPECT_SAYS(message, path, "Permission denied");
}

}  // namespace
}  // namespace pando::data
