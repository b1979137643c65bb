// `pando data benchmark`.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/data/sources/cifar/cifar.h"
#include "tests/cli/run_cli.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::cli {
namespace {

using testing_support::TempFolder;

TEST(DataBenchmark, PrintsATableForEachNumberOfWorkers) {
  const TempFolder folder;
  make_cifar10(folder.path(), {.train = 20, .test = 10});
  const Result result = run({"data", "benchmark", "cifar10", folder.path(), "--workers", "2",
                             "--seconds", "0.01", "--batch-size", "8"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_SAYS(result.out, "20 samples, batches of 8");
  EXPECT_SAYS(result.out, "\n1 thread:\n");
  EXPECT_SAYS(result.out, "\n2 threads:\n");
  for (const char* stage : {"\n  gather ", "\n  augment ", "\n  batch "}) {
    EXPECT_SAYS(result.out, stage);
  }
  EXPECT_SAYS(result.out, "plain copies read and write");
}

TEST(DataBenchmark, PrintsJson) {
  const TempFolder folder;
  make_cifar10(folder.path(), {.train = 20, .test = 10});
  const Result result = run({"data", "benchmark", "cifar10", folder.path(), "--workers", "1",
                             "--seconds", "0.01", "--json"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["data_set"], "cifar10");
  EXPECT_EQ(json["batch_size"], 20);
  ASSERT_EQ(json["stages"].size(), 3u);
  EXPECT_EQ(json["stages"][2]["stage"], "batch");
  for (const auto& stage : json["stages"]) {
    EXPECT_GT(stage["samples_per_second"], 0) << stage;
    EXPECT_GT(stage["bytes_out_per_second"], 0) << stage;
  }
  EXPECT_GT(json["copies"][0]["bytes_per_second"], 0);
}

TEST(DataBenchmark, ChecksItsWords) {
  EXPECT_SAYS(run({"data", "benchmark", "imagenet"}).err, "imagenet: PATH: not given");
  EXPECT_EQ(run({"data", "benchmark", "cifar10", "x", "--seconds", "0"}).code, 2);
  EXPECT_EQ(run({"data", "benchmark", "cifar10", "/nowhere"}).code, 2);
  EXPECT_SAYS(run({"data", "benchmark", "--help"}).out, "usage: pando data benchmark NAME [PATH]");
}

}  // namespace
}  // namespace pando::cli
