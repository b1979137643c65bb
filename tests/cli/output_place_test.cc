// Places that commands cannot write to: they are found before any work, and cost nothing.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/new_file.h"
#include "pando/data/image/png.h"
#include "pando/nn/layers.h"
#include "pando/train/load_model.h"
#include "tests/app/test_folder.h"
#include "tests/cli/run_cli.h"
#include "tests/support/expect_error.h"

namespace pando::cli {
namespace {

namespace fs = std::filesystem;

class OutputPlaces : public testing::Test {
 protected:
  OutputPlaces() {
    save_model(Model(Sequential({8, 8, 3}, {Conv2D({.filters = 3})})), path("pixels.onnx"));
    save_model(Model(Sequential({8, 8, 3}, {Flatten(), Dense({.units = 3})})), path("net.onnx"));
    fs::create_directories(path("pictures"));
    const std::vector<uint8_t> png = encode_png(Image({9, 9}, 3).view());
    write_new_file(path("pictures/a.png"), std::as_bytes(std::span(png)));
    fs::create_symlink("loop", path("loop"));
  }

  std::string path(const std::string& name) const { return (folder_.path / name).string(); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path)) {
      names.push_back(entry.path().string());
    }
    std::ranges::sort(names);
    return names;
  }

  app::TestFolder folder_;
};

TEST_F(OutputPlaces, OfFilesAreCheckedFirst) {
  const std::vector<std::vector<std::string>> commands = {
      {"export", path("net.onnx"), "--format=onnx", "--output"},
      {"show", path("net.onnx"), "--graph"},
      {"report", path("no_run"), "--output"},
      {"data", "show", "fashion_mnist", path("no_data"), "--output"}};
  const std::vector<std::string> before = files();
  for (const std::vector<std::string>& command : commands) {
    for (const std::string& place : {path("loop"), path("loop/x"), path("none/x"), path("pictures"),
                                     std::string("/dev/full"), path(std::string(300, 'x'))}) {
      std::vector<std::string> args = command;
      args.push_back(place);
      SCOPED_TRACE(join(args, " "));
      const Result result = run(args);
      EXPECT_EQ(result.code, app::kUsage);
      EXPECT_SAYS(result.err, command.back() + ": ", "use another path");
      EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
      EXPECT_EQ(result.out, "");
    }
  }
  EXPECT_EQ(files(), before);
}

TEST_F(OutputPlaces, OfMasksAreMadeWhenAllElseIsRight) {
  const auto predict = [&](const std::string& network, const std::string& folder,
                           std::vector<std::string> args = {}) {
    args.insert(args.begin(),
                {"predict", path(network), path("pictures"), "--output", path(folder)});
    return run(args);
  };
  const std::vector<std::string> before = files();
  const Result wrong = predict("net.onnx", "masks", {"--task=segmentation"});
  EXPECT_EQ(wrong.code, app::kUsage);
  EXPECT_SAYS(wrong.err, "--task");
  const Result loop = predict("pixels.onnx", "loop");
  EXPECT_EQ(loop.code, app::kUsage);
  EXPECT_SAYS(loop.err, "--output: ", "loop", "use another path");
  EXPECT_EQ(files(), before);
  EXPECT_EQ(predict("pixels.onnx", "masks").code, app::kDone);
  EXPECT_TRUE(fs::exists(path("masks/a.png")));
}

TEST_F(OutputPlaces, MasksDoNotReplacePictures) {
  const std::string picture = folder_.read("pictures/a.png");
  fs::create_directory_symlink("pictures", path("other_name"));
  for (const char* folder : {"pictures", "other_name", "."}) {
    fs::create_hard_link(path("pictures/a.png"), path("a.png"));
    const Result result =
        run({"predict", path("pixels.onnx"), path("pictures"), "--output", path(folder)});
    EXPECT_EQ(result.code, app::kUsage);
    EXPECT_SAYS(result.err, "--output: ", "would replace the picture", "use another folder");
    EXPECT_EQ(folder_.read("pictures/a.png"), picture);
    fs::remove(path("a.png"));
  }
}

}  // namespace
}  // namespace pando::cli
