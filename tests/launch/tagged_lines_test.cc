#include "pando/launch/tagged_lines.h"

#include <gtest/gtest.h>

#include "pando/base/strings.h"

namespace pando::launch {
namespace {

// The lines as "instance:text"; `text` is fed in pieces of `piece` bytes.
std::vector<std::string> lines_of(const std::string& text, MpiKind kind = MpiKind::open_mpi,
                                  Stream stream = Stream::out, size_t piece = 1000) {
  std::vector<std::string> found;
  TaggedLines lines(kind, stream, [&](const OutputLine& line) {
    EXPECT_EQ(line.stream, stream);
    found.push_back(concat(line.instance, ":", line.text));
  });
  for (size_t i = 0; i < text.size(); i += piece) lines.feed(text.substr(i, piece));
  lines.finish();
  return found;
}

using Lines = std::vector<std::string>;

TEST(TaggedLines, OneTagPerLine) {
  EXPECT_EQ(lines_of("[1,0]<stdout>:a\n[1,12]<stdout>:b\nof mpirun\n[1,0]<stdout>:\n"),
            (Lines{"0:a", "12:b", "-1:of mpirun", "0:"}));
  EXPECT_EQ(lines_of("[1,3]<stderr>:a\n", MpiKind::open_mpi, Stream::err), Lines{"3:a"});
}

TEST(TaggedLines, PiecesOfLinesComeTogether) {
  EXPECT_EQ(lines_of("[1,0]<stdout>:first [1,1]<stdout>:other\n[1,0]<stdout>:second\n"),
            (Lines{"1:other", "0:first second"}));
  EXPECT_EQ(lines_of("[1,0]<stdout>:a[1,0]<stdout>:b[1,0]<stdout>:c\n"), Lines{"0:abc"});
}

TEST(TaggedLines, ReadsMayEndAnywhere) {
  const std::string text =
      "[1,0]<stdout>:first [1,1]<stdout>:[x] [1,2]\n[1,0]<stdout>:second\n[nothing\n";
  for (size_t piece = 1; piece < text.size(); ++piece) {
    EXPECT_EQ(lines_of(text, MpiKind::open_mpi, Stream::out, piece),
              (Lines{"1:[x] [1,2]", "0:first second", "-1:[nothing"}))
        << piece;
  }
}

TEST(TaggedLines, TheEndEndsLines) {
  EXPECT_EQ(lines_of("[1,1]<stdout>:a[1,0]<stdout>:b"), (Lines{"0:b", "1:a"}));
  EXPECT_EQ(lines_of("[1,1]<std"), Lines{"-1:[1,1]<std"});
  EXPECT_EQ(lines_of(""), Lines{});
}

TEST(TaggedLines, WhatLooksAlikeIsText) {
  EXPECT_EQ(lines_of("[2,1]<stdout>:a\n[1,]<stdout>:b\n[1,1]<stderr>:c\n[1,1]<stdout>d\n"),
            (Lines{"-1:[2,1]<stdout>:a", "-1:[1,]<stdout>:b", "-1:[1,1]<stderr>:c",
                   "-1:[1,1]<stdout>d"}));
  EXPECT_EQ(lines_of("[1,99999999999]<stdout>:a\n"), Lines{"-1:[1,99999999999]<stdout>:a"});
}

TEST(TaggedLines, OfMpich) {
  EXPECT_EQ(lines_of("[1,0]<mpi>:a\n[1,1]<mpi>:b[1,0]<mpi>:c\n[1,1]<mpi>:\nmpiexec says\n",
                     MpiKind::hydra),
            (Lines{"0:a", "0:c", "1:b", "-1:mpiexec says"}));
}

TEST(TaggedLines, EndlessLinesAreCut) {
  const std::string text = "[1,0]<stdout>:" + std::string((1 << 20) + 10, 'x') + "\n";
  const Lines lines = lines_of(text, MpiKind::open_mpi, Stream::out, 65536);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].size(), (1u << 20) + 2);
  EXPECT_EQ(lines[1], "0:xxxxxxxxxx");
}

}  // namespace
}  // namespace pando::launch
