// `pando data build-imagenet` and make-imagenet.
// SPDX-License-Identifier: MIT
#include <csignal>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "pando/data/sources/imagenet/imagenet.h"
#include "tests/cli/run_cli.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::cli {
namespace {

using testing_support::TempFolder;

Result make(const std::string& folder, std::vector<std::string> flags = {}) {
  std::vector<std::string> args = {"data", "make-imagenet", folder, "--classes", "3",  "--train",
                                   "12",   "--validation",  "6",    "--height",  "24", "--width",
                                   "32"};
  args.insert(args.end(), flags.begin(), flags.end());
  return run(args);
}

std::vector<std::string> build_args(const TempFolder& folder) {
  return {"data",
          "build-imagenet",
          folder.path("ilsvrc"),
          folder.path("out"),
          "--train-shards",
          "3",
          "--validation-shards",
          "2",
          "--workers",
          "2"};
}

TEST(DataBuild, MakesImagenet) {
  const TempFolder folder;
  const Result result = make(folder.path());
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out,
            "12 training and 6 validation images of 3 classes are in " + folder.path() + "\n");
  const Imagenet set = load_imagenet(folder.path(), {.size = {8, 8}, .short_side = 8});
  EXPECT_EQ(set.train.data.size(), 12);
  EXPECT_EQ(set.classes, 3);
  EXPECT_EQ(make(folder.path("bad"), {"--train", "2"}).code, 2);
  EXPECT_SAYS(make(folder.path("bad"), {"--height", "4294967296"}).err, "--height");
  EXPECT_SAYS(make(folder.path("bad"), {"--width", "52401"}).err, "52400");
}

TEST(DataBuild, BuildsImagenet) {
  const TempFolder folder;
  ASSERT_EQ(make(folder.path("ilsvrc"), {"--jpeg-folders"}).code, 0);
  const Result result = run(build_args(folder));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_SAYS(result.out, "100 %  18 of 18 images, 5 of 5 files\n");
  EXPECT_SAYS(result.out, "12 training and 6 validation images are in " + folder.path("out"));
  EXPECT_EQ(load_imagenet(folder.path("out"), {.size = {8, 8}, .short_side = 8}).classes, 3);
  const Result again = run(build_args(folder));
  EXPECT_EQ(again.code, 1);
  EXPECT_SAYS(again.err, "no unfinished build");
}

TEST(DataBuild, BadImages) {
  const TempFolder folder;
  ASSERT_EQ(make(folder.path("ilsvrc"), {"--jpeg-folders"}).code, 0);
  const std::string bad = folder.path("ilsvrc/train/n90000000/bad.JPEG");
  std::ofstream(bad) << "no image";
  const Result refused = run(build_args(folder));
  EXPECT_EQ(refused.code, 1);
  EXPECT_SAYS(refused.err, bad);
  std::vector<std::string> skip = build_args(folder);
  skip.insert(skip.end(), {"--on-bad-record", "skip"});
  const Result skipped = run(skip);
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_SAYS(skipped.out, "1 bad record skipped:\n  " + bad);
  skip.back() = "ignore";
  EXPECT_EQ(run(skip).code, 2);
}

// Raises SIGINT when the first line of progress is written.
class InterruptingOutput : public std::stringbuf {
 protected:
  int sync() override {
    if (!raised_) std::raise(SIGINT);
    raised_ = true;
    return 0;
  }

 private:
  bool raised_ = false;
};

TEST(DataBuild, ASignalStopsItAndItGoesOn) {
  const TempFolder folder;
  ASSERT_EQ(make(folder.path("ilsvrc"), {"--jpeg-folders"}).code, 0);
  std::vector<std::string> args = build_args(folder);
  args.back() = "1";
  InterruptingOutput buffer;
  std::ostream out(&buffer);
  std::ostringstream err;
  EXPECT_EQ(run_program(args, out, err), 75) << err.str();
  EXPECT_SAYS(buffer.str(), "4 training and 0 validation images");
  EXPECT_SAYS(buffer.str(), "stopped; ");
  const Result rest = run(args);
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_SAYS(rest.out, "12 training and 6 validation images");
  EXPECT_SAYS(rest.out, "1 of the files were built before");
}

TEST(DataBuild, WordsAreNamed) {
  EXPECT_SAYS(run({"data", "build-imagenet"}).err, "SOURCE: not given");
  EXPECT_SAYS(run({"data", "build-imagenet", "a"}).err, "DIR: not given");
  EXPECT_SAYS(run({"data", "build-imagenet", "--help"}).out, "--bounding-boxes");
}

}  // namespace
}  // namespace pando::cli
