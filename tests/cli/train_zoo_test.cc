// Models of the zoo train by `pando train`, and divided over devices they train alike.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/record/history_writer.h"
#include "pando/base/strings.h"
#include "pando/zoo/zoo.h"
#include "tests/cli/run_cli.h"
#include "tests/support/temp_folder.h"

namespace pando::cli {
namespace {

struct SmallRun {
  std::string model;
  int64_t side;       // 0: that of the data set; no multiple of 32 where the network allows it
  std::string split;  // the first layer of a block
};

std::vector<SmallRun> small_runs() {
  return {{"mobilenet_v2", 40, "block8_expand_conv"},
          {"cosmoflow", 32, "conv3d_3"},
          {"fast_resnet7", 0, "conv3_conv"}};
}

// The rest; the ordinary tests leave out what is instantiated as Long.
std::vector<SmallRun> further_runs() {
  return {{"efficientnet_b0", 40, "block6_expand_conv"},  {"densenet121", 72, "conv4_block1_0_bn"},
          {"cifar_wrn_16_4", 0, "conv3_block1_1_bn"},     {"unet_small", 40, "bottom_1_conv"},
          {"unet3d", 16, "up3_conv_transpose"},           {"cosmoflow_v1", 64, "conv3d_3"},
          {"cosmoflow_resnet", 32, "conv3_block1_0_conv"}};
}

// Models whose many weights take the time.
std::vector<SmallRun> large_runs() {
  return {{"resnet101", 40, "conv4_block6_out"},
          {"vgg16", 40, "block4_conv1"},
          {"convnext_tiny", 40, "stack3_block4_depthwise"},
          {"unet", 16, "bottom_1_conv"}};
}

// The mean loss of some weight updates.
double loss_of(const SmallRun& small, int updates, const std::vector<std::string>& division) {
  const testing_support::TempFolder folder;
  std::vector<std::string> args = {"train",
                                   "--synthetic-data=device",
                                   "--model=" + small.model,
                                   "--run-dir=" + folder.path("run"),
                                   "--micro-batch-size=2",
                                   concat("--weight-updates-per-epoch=", updates),
                                   "--num-epochs=1",
                                   "--logs-per-epoch=1",
                                   "--learning-rate=0.001",
                                   "--slices=1",
                                   "--ckpts-per-epoch=0",
                                   "--validation=false"};
  if (small.side > 0) args.push_back(concat("--image-size=", small.side));
  args.insert(args.end(), division.begin(), division.end());
  const Result result = run(args);
  EXPECT_EQ(result.code, app::kDone) << result.err;
  const auto rows = app::read_history(folder.path("run/history.json"), 1 << 20);
  const bool logged = rows.size() == 1 && rows[0].loss;
  EXPECT_TRUE(logged) << result.out;
  return logged ? *rows[0].loss : -1;
}

std::string name_of_run(const testing::TestParamInfo<SmallRun>& info) { return info.param.model; }

class TrainZoo : public testing::TestWithParam<SmallRun> {};

// Micro-batches and their order are the same, so the loss is too, up to rounding.
TEST_P(TrainZoo, AloneAndDivided) {
  const double alone = loss_of(GetParam(), 2, {"--gradient-accumulation-count=4"});
  const double divided = loss_of(GetParam(), 2,
                                 {"--gradient-accumulation-count=2", "--num-replicas=2",
                                  "--pipeline-splits=" + GetParam().split});
  EXPECT_GT(alone, 0);
  EXPECT_NEAR(divided, alone, 2e-3 * alone);
}
INSTANTIATE_TEST_SUITE_P(Small, TrainZoo, testing::ValuesIn(small_runs()), name_of_run);
INSTANTIATE_TEST_SUITE_P(Long, TrainZoo, testing::ValuesIn(further_runs()), name_of_run);

class TrainLargeZoo : public testing::TestWithParam<SmallRun> {};

// Before it has learned anything, a network guesses.
TEST_P(TrainLargeZoo, InAPipelineOnReplicas) {
  const double loss =
      loss_of(GetParam(), 1, {"--num-replicas=2", "--pipeline-splits=" + GetParam().split});
  EXPECT_NEAR(loss, std::log(static_cast<double>(zoo_entry(GetParam().model).outputs)), 1);
}
INSTANTIATE_TEST_SUITE_P(Long, TrainLargeZoo, testing::ValuesIn(large_runs()), name_of_run);

}  // namespace
}  // namespace pando::cli
