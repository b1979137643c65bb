#include <algorithm>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "tests/app/mnist_folder.h"
#include "tests/cli/run_cli.h"
#include "tests/support/expect_error.h"

namespace pando::cli {
namespace {

class Train : public testing::Test {
 protected:
  Train() { app::write_mnist(folder_); }

  Result train(std::vector<std::string> args) const {
    args.insert(args.begin(), {"train", "--dataset-path", folder_.path.string(), "--run-dir",
                               run_dir().string(), "--seed=1", "--slices=2"});
    return run(args);
  }
  std::filesystem::path run_dir() const { return folder_.path / "run"; }

  app::TestFolder folder_;
};

TEST_F(Train, QuietPrintsTheResultAlone) {
  const Result result = train({"--quiet", "--epochs=1"});
  EXPECT_EQ(result.code, app::kDone) << result.err;
  EXPECT_EQ(result.out.rfind("test loss: ", 0), 0u) << result.out;
  EXPECT_NE(result.out.find(", test accuracy: "), std::string::npos);
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
  EXPECT_EQ(result.err, "");
  EXPECT_NE(folder_.read("run/config.yml").find("slices: 2 "), std::string::npos);
}

// A flag that does not do what it says changes what the result means.
TEST_F(Train, QuietDoesNotHideWarnings) {
  const Result result = train({"--quiet", "--epochs=1", "--conv-dithering", "--no-validation"});
  EXPECT_EQ(result.code, app::kDone) << result.err;
  EXPECT_EQ(result.out.find("warning: --conv-dithering is ignored"), 0u) << result.out;
  EXPECT_EQ(result.out.find("Epoch"), std::string::npos) << result.out;
}

TEST_F(Train, VerifyComparesTheModelWithItself) {
  const Result result = train(
      {"--quiet", "--verify", "--model=toy_model", "--dataset=fashion_mnist", "--batch-size=4"});
  EXPECT_EQ(result.code, app::kDone) << result.out << result.err;
  EXPECT_NE(result.out.find("loss"), std::string::npos) << result.out;
  EXPECT_FALSE(std::filesystem::exists(run_dir()));
}

TEST_F(Train, CompileReportNamesKernelsAndMemory) {
  const Result result = train({"--quiet", "--compile-report", "--dry-run"});
  EXPECT_EQ(result.code, app::kDone) << result.err;
  for (const char* word : {"kernel", "memory of one slice", "memory of the devices"}) {
    EXPECT_NE(result.out.find(word), std::string::npos) << word << " in\n" << result.out;
  }
}

TEST_F(Train, DryRunTimesAFewSteps) {
  const Result result = train({"--dry-run"});
  EXPECT_EQ(result.code, app::kDone) << result.err;
  EXPECT_NE(result.out.find("an epoch of 200 samples about"), std::string::npos) << result.out;
  EXPECT_FALSE(std::filesystem::exists(run_dir()));
}

TEST_F(Train, UnknownModelIsAWrongUse) {
  const Result result = train({"--model=mnist_cn"});
  EXPECT_EQ(result.code, app::kUsage);
  EXPECT_NE(result.err.find("'mnist_cnn'"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(run_dir()));
}

TEST_F(Train, DeviceFlagsThatDoNotFitAreAWrongUse) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--device-mapping=0,1"}, "--device-mapping"},
      {{"--pipeline-splits=nothing"}, "--pipeline-splits: unknown layer 'nothing'"},
      {{"--pipeline-splits=dense,conv2d_1"}, "'conv2d_1' comes before 'dense'"},
      {{"--gradient-accumulation-count=2", "--global-batch-size=128"}, "--global-batch-size 128"},
      {{"--batch-size=201"}, "fewer than one global batch of 201"},
      {{"--logs-per-epoch=1/2", "--epochs=3"}, "--logs-per-epoch 1/2"},
      {{"--threads=2", "--num-replicas=2"}, "--cores-per-device"},
  };
  for (const auto& [args, text] : cases) {
    const Result result = train(args);
    EXPECT_EQ(result.code, app::kUsage) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(run_dir()));
  }
}

TEST_F(Train, ABudgetOfMemoryThatIsTooSmallIsRefused) {
  const Result result = train({"--quiet", "--memory-per-device=1K"});
  EXPECT_EQ(result.code, app::kUsage);
  EXPECT_NE(result.err.find("the budget is 1.0 KiB"), std::string::npos) << result.err;
}

// A value that no machine can hold is refused before the first step too, with what would fit.
TEST_F(Train, ValuesThatAreLargerThanTheMachineAreRefused) {
  const auto refused = [&](const std::string& batch) {
    const Result result =
        run({"train", "--model=resnet18", "--dataset=imagenet", "--synthetic-data=host", "--quiet",
             "--image-size=4096", "--micro-batch-size=" + batch, "--run-dir", run_dir().string()});
    EXPECT_EQ(result.code, app::kUsage) << result.err;
    EXPECT_FALSE(std::filesystem::exists(run_dir()));
    return result.err;
  };
  EXPECT_SAYS(refused("65536"), "a batch of 65536", "of the machine", "micro-batch", "fit");
}

TEST_F(Train, ReplicasPrintTheSameKindOfResult) {
  const Result result = train({"--quiet", "--epochs=1", "--num-replicas=2", "--batch-size=16"});
  EXPECT_EQ(result.code, app::kDone) << result.err;
  EXPECT_EQ(result.out.rfind("test loss: ", 0), 0u) << result.out;
  EXPECT_NE(folder_.read("run/config.yml").find("num-replicas: 2 "), std::string::npos);
}

}  // namespace
}  // namespace pando::cli
