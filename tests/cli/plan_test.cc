// Tests `pando plan` from its command line to its output.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_cli.h"
#include "tests/support/temp_folder.h"

namespace pando::cli {
namespace {

TEST(PlanCommand, PredictsAndRecommends) {
  const testing_support::TempFolder folder;
  const std::string plot = folder.path("plan.svg");
  const Result result = run({"plan", "--model", "mnist_cnn", "--micro-batch-size", "8",
                             "--instances", "4096", "--bandwidth", "10Gbit", "--latency", "50us",
                             "--json", "--measure-seconds", "0.1", "--plot", plot});
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  ASSERT_EQ(json["best_of_each"].size(), 13U);
  EXPECT_EQ(json["best_of_each"][0]["exposed_seconds"], 0.0);
  for (const auto& found : json["best_of_each"]) {
    EXPECT_GT(found["update_seconds"], 0.0);
    EXPECT_GT(found["samples_per_second"], 0.0);
    EXPECT_GT(found["device_memory_bytes"], 0);
    EXPECT_LE(found["exposed_share"], 1.0);
  }
  EXPECT_FALSE(json["recommended"]["command"].get<std::string>().empty());
  EXPECT_TRUE(std::filesystem::exists(plot));
}

TEST(PlanCommand, RefusesUnknownModels) {
  const Result result = run({"plan", "--model", "cifar_resnet9"});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("cifar_resnet8"), std::string::npos) << result.err;
}

TEST(PlanCommand, RefusesUnreadableUnits) {
  const Result result = run({"plan", "--bandwidth", "fast"});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("--bandwidth"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace pando::cli
