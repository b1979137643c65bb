// `pando data`: its table of verbs and the verbs that make data.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "pando/data/sources/cifar/cifar.h"
#include "pando/data/sources/cosmoflow.h"
#include "tests/cli/run_cli.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::cli {
namespace {

using testing_support::TempFolder;

TEST(Data, ListsItsVerbs) {
  EXPECT_SAYS(run({"data"}).out, "make-cifar10 DIR");
  EXPECT_EQ(run({"data", "--help"}).out, run({"data"}).out);
  EXPECT_EQ(run({"data", "help", "make-cifar10"}).out, run({"data", "make-cifar10", "--help"}).out);
}

TEST(Data, OffersTheNearestVerb) {
  const Result result = run({"data", "make-cifer10"});
  EXPECT_EQ(result.code, 2);
  EXPECT_SAYS(result.err, "unknown verb 'make-cifer10'");
  EXPECT_SAYS(result.err, "make-cifar10");
}

TEST(Data, WordsAreCounted) {
  EXPECT_SAYS(run({"data", "make-cifar10"}).err, "DIR: not given", "the folder to make");
  EXPECT_SAYS(run({"data", "make-cifar10", "a", "b"}).err, "'b': ", "DIR");
}

TEST(Data, MakesCifar10) {
  const TempFolder folder;
  // A flag without a value in front of the word.
  const Result result =
      run({"data", "make-cifar10", "--python", folder.path(), "--train=50", "--test", "10"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out,
            "50 training and 10 test images are in " + folder.path("cifar-10-batches-py") + "\n");
  EXPECT_EQ(load_cifar10(folder.path()).train.size(), 50);
}

TEST(Data, WhatIsThereStays) {
  const TempFolder folder;
  ASSERT_EQ(run({"data", "make-cifar10", folder.path("a"), "--train=50", "--test=10"}).code, 0);
  for (const char* verb : {"make-cifar10", "make-cosmoflow", "make-imagenet", "make-shapes"}) {
    EXPECT_SAYS(run({"data", verb, folder.path("a")}).err, "is not empty; remove it or name");
    EXPECT_SAYS(run({"data", verb, folder.write("file", {1})}).err, "is a file");
    EXPECT_SAYS(run({"data", verb, ""}).err, "expected DIR", "empty");
  }
}

TEST(Data, AFlagHasTwoDashes) {
  EXPECT_SAYS(run({"data", "make-cifar10", "-o", "x"}).err, "'-o': not a flag");
}

TEST(Data, MakesCosmoflow) {
  const TempFolder folder;
  const Result result = run({"data", "make-cosmoflow", folder.path(), "--side", "8", "--train", "3",
                             "--validation", "2", "--gzip", "false"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_SAYS(result.out, "3 training and 2 validation volumes of 8x8x8x4");
  EXPECT_EQ(open_cosmoflow(folder.path("train"), {.shape = {8, 8, 8, 4}}).data.size(), 3);
}

TEST(Data, MakesShapes) {
  const TempFolder folder;
  const Result result = run({"data", "make-shapes", folder.path(), "--train", "3", "--validation",
                             "2", "--size", "16", "--seed", "1"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_SAYS(result.out, "3 training and 2 validation pictures of 16x16 with masks");
  const Result verified = run({"data", "verify", "image_folder", folder.path()});
  EXPECT_EQ(verified.code, 0) << verified.out;
  EXPECT_SAYS(verified.out, "class, in pixels", "2 square", "5 good samples");
}

}  // namespace
}  // namespace pando::cli
