// `pando data show`.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/image/decode.h"
#include "pando/data/sources/cifar/cifar.h"
#include "tests/cli/run_cli.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::cli {
namespace {

using testing_support::TempFolder;

class DataShow : public testing::Test {
 protected:
  DataShow() { make_cifar10(folder_.path(), {.train = 20, .test = 10}); }
  Image picture(const std::string& name) const {
    const std::string content = folder_.read(name);
    const std::vector<uint8_t> bytes(content.begin(), content.end());
    return decode_image(bytes, name);
  }

  TempFolder folder_;
};

TEST_F(DataShow, WritesAPngFile) {
  const std::string output = folder_.path("sheet.png");
  const Result result = run({"data", "show", "cifar10", folder_.path(), "--output", output,
                             "--samples", "6", "--columns", "3"});
  ASSERT_EQ(result.code, 0) << result.err;
  const ImageSize size = picture("sheet.png").size;
  EXPECT_EQ(result.out, output + " (" + std::to_string(size.width) + "x" +
                            std::to_string(size.height) + " pixels)\n");
  EXPECT_GT(size.width, 3 * 96);
}

TEST_F(DataShow, FlagsChangeTheSamples) {
  const auto shown = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> args = {"data",         "show",     "cifar10",
                                     folder_.path(), "--output", folder_.path("x.png")};
    args.insert(args.end(), flags.begin(), flags.end());
    const Result result = run(args);
    EXPECT_EQ(result.code, 0) << result.err;
    return picture("x.png").pixels;
  };
  const auto usual = shown({});
  EXPECT_EQ(shown({"--augment", "true", "--split=train", "--epoch", "0", "--seed", "0"}), usual);
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
           {"--augment", "false"}, {"--split", "test"}, {"--epoch", "3"}, {"--seed", "4"}}) {
    EXPECT_NE(shown(flags), usual) << flags[0];
  }
}

TEST_F(DataShow, TheFileIsNamedAfterTheDataSet) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  const Result result = run({"data", "show", "cifar10", "."});
  std::filesystem::current_path(before);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(folder_.path("cifar10.png")));
}

TEST_F(DataShow, ChecksItsWords) {
  EXPECT_SAYS(run({"data", "show", "cosmoflow"}).err, "cosmoflow: PATH: not given");
  EXPECT_EQ(run({"data", "show", "cifar10", folder_.path(), "--split", "all"}).code, 2);
  const Result result =
      run({"data", "show", "cifar10", folder_.path(), "--output", folder_.path("none/x.png")});
  EXPECT_EQ(result.code, 2);
  EXPECT_SAYS(result.err, "--output", "none");
}

}  // namespace
}  // namespace pando::cli
