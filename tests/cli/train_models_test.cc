// Tests `pando train` with models, normalisations and splits, up to the compiled model.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "tests/cli/run_cli.h"
#include "tests/support/expect_error.h"

namespace pando::cli {
namespace {

Result compile(std::vector<std::string> args) {
  args.insert(args.begin(), {"train", "--synthetic-data=device", "--compile-only", "--slices=1",
                             "--micro-batch-size=1", "--num-epochs=1"});
  return run(args);
}

TEST(TrainModels, CompileOnlyStopsAfterThat) {
  const Result result = compile({"--model=toy_model_bn"});
  EXPECT_EQ(result.code, app::kDone) << result.err;
  EXPECT_SAYS(result.out, "compiled; nothing is kept");
  EXPECT_EQ(result.out.find("training toy_model_bn"), std::string::npos);
}

TEST(TrainModels, NormLayerReachesTheModel) {
  const Result result =
      compile({"--model=toy_model_bn", "--norm-layer={name: group_norm, num_groups: 2}"});
  EXPECT_EQ(result.code, app::kDone) << result.err;
  EXPECT_SAYS(result.out, "gn_0 (GroupNormalization)");
  const Result wrong =
      compile({"--model=toy_model_bn", "--norm-layer={name: group_norm, num_groups: 3}"});
  EXPECT_EQ(wrong.code, app::kUsage);
  EXPECT_SAYS(wrong.err, "--norm-layer", "'gn_0'", "4 channels", "3");
}

TEST(TrainModels, WarningsStandOnce) {
  const Result result = compile({"--half-partials", "--nanoo", "--conv-dithering"});
  const std::string half = "warning: --half-partials, --nanoo: no effect in 32.32\n";
  EXPECT_SAYS(result.out, half);
  EXPECT_EQ(result.out.find(half, result.out.find(half) + 1), std::string::npos);
  EXPECT_SAYS(result.out, "warning: --conv-dithering is ignored: ");
}

TEST(TrainModels, SplitsOfResnet50) {
  const std::vector<std::string> model = {"--model=resnet50", "--image-size=32"};
  const auto with = [&](const std::string& splits) {
    std::vector<std::string> args = model;
    args.push_back("--pipeline-splits=" + splits);
    return compile(args);
  };
  const Result unknown = with("conv2_block9_out");
  EXPECT_EQ(unknown.code, app::kUsage);
  EXPECT_SAYS(unknown.err, "--pipeline-splits: unknown layer 'conv2_block9_out'");
  EXPECT_SAYS(unknown.err, "conv5_block3_3_bn");
  const Result order = with("conv3_block1_out,conv2_block2_out");
  EXPECT_EQ(order.code, app::kUsage);
  EXPECT_SAYS(order.err, "'conv2_block2_out' comes before 'conv3_block1_out'");
  const Result fine = with("conv2_block2_out,conv3_block1_out,conv4_block2_out");
  EXPECT_EQ(fine.code, app::kDone) << fine.err;
  EXPECT_SAYS(fine.out, "numbers of weights would begin at conv4_block");
}

}  // namespace
}  // namespace pando::cli
