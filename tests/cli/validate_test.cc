#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/app/job/exit_code.h"
#include "pando/store/weights_file.h"
#include "tests/app/mnist_folder.h"
#include "tests/cli/run_cli.h"
#include "tests/support/expect_error.h"

namespace pando::cli {
namespace {

namespace fs = std::filesystem;

class Validate : public testing::Test {
 protected:
  Validate() { app::write_mnist(folder_); }

  std::string path(const std::string& name) const { return (folder_.path / name).string(); }

  // An earlier run of two epochs.
  Result train(std::vector<std::string> args = {}) const {
    args.insert(args.begin(),
                {"train", "--dataset-path", folder_.path.string(), "--run-dir", path("run"),
                 "--seed=1", "--slices=2", "--learning-rate=0.05", "--epochs=2", "--quiet"});
    return run(args);
  }
  static Result validate(std::vector<std::string> args) {
    args.insert(args.begin(), "validate");
    return run(args);
  }
  nlohmann::json rows(const std::string& run) const {
    return nlohmann::json::parse(folder_.read(run + "/history.json"));
  }
  // The last line of the output.
  static std::string result_of(const Result& result) {
    EXPECT_EQ(result.code, app::kDone) << result.out << result.err;
    const std::string& text = result.out;
    const size_t begin = text.empty() ? std::string::npos : text.rfind('\n', text.size() - 2);
    return begin == std::string::npos ? text : text.substr(begin + 1);
  }

  app::TestFolder folder_;
};

TEST_F(Validate, AnEarlierRunByItsFolder) {
  const std::string expected = result_of(train({"--validation-micro-batch-size=9"}));
  const Result result = validate({path("run")});
  EXPECT_EQ(result_of(result), expected);
  EXPECT_SAYS(result.out, "validating mnist_cnn on fashion_mnist: 50 samples, run directory " +
                              path("run/validation"));
  EXPECT_SAYS(result.out, "validation epoch 1.0: accuracy: ");
  EXPECT_SAYS(result.out, "precision");
  ASSERT_EQ(rows("run/validation").size(), 2u);
  EXPECT_TRUE(fs::exists(path("run/validation/confusion.svg")));
  EXPECT_SAYS(folder_.read("run/validation/config.yml"), "training: false");
  EXPECT_SAYS(folder_.read("run/validation/config.yml"), "validation-micro-batch-size: 9");
  EXPECT_EQ(rows("run").size(), 4u);  // unchanged
  EXPECT_EQ(result_of(validate({"--run-dir", path("run"), "--quiet"})), expected);
  EXPECT_TRUE(fs::exists(path("run/validation/previous-1/history.json")));
}

TEST_F(Validate, ACheckpointIsComputedInTheWayItWasTrained) {
  const std::string expected = result_of(train({"--precision=16.16"}));
  const std::vector<std::string> flags = {"--dataset-path", folder_.path.string(), "--slices=2",
                                          "--output-dir", path("out")};
  const auto validated = [&](std::vector<std::string> what) {
    what.insert(what.end(), flags.begin(), flags.end());
    return validate(what);
  };
  fs::rename(path("run/checkpoints"), path("moved"));  // away from config.yml
  const std::string file = path("moved/epoch_2.0.h5");
  for (const std::string& what : {path("moved"), file}) {
    const Result result = validated({what});
    EXPECT_EQ(result_of(result), expected);
    EXPECT_SAYS(result.out, "precision 16.16, as in " + file);
    EXPECT_SAYS(folder_.read("out/config.yml"), "# recorded in " + file);
  }
  EXPECT_SAYS(validated({file, "--precision=32.32"}).out, "precision 32.32\n");
}

TEST_F(Validate, AFileAloneSaysWhatItsModelAndDataAre) {
  const std::string expected =
      result_of(train({"--model=toy_model", "--dataset=mnist", "--accelerator-side-preprocess"}));
  const std::string file = path("run/checkpoints/epoch_2.0.h5");
  const std::vector<std::string> out = {"--slices=2", "--output-dir", path("out")};
  const auto validated = [&](std::vector<std::string> args) {
    args.insert(args.end(), out.begin(), out.end());
    return validate(args);
  };
  EXPECT_EQ(result_of(validated({file})), expected);  // by config.yml one folder up
  EXPECT_SAYS(folder_.read("out/config.yml"), "model: toy_model",
              "accelerator-side-preprocess: true");
  EXPECT_EQ(result_of(validated({path("run/checkpoints")})), expected);
  store::WeightsFile weights = store::read_weights_file(file);  // a file of weights alone
  std::erase_if(weights.attributes,
                [](const auto& entry) { return entry.first.starts_with("pando_note_"); });
  store::write_weights_file(path("run/checkpoints/weights.h5"), weights);
  EXPECT_EQ(result_of(validated({path("run/checkpoints/weights.h5")})), expected);
  folder_.write("run/config.yml", "model: mnist_cnn\n");  // the run was repeated with others
  EXPECT_EQ(result_of(validated({file})), expected);
  fs::create_directory(path("alone"));
  fs::rename(file, path("alone/w.h5"));
  const Result alone = validated({path("alone/w.h5")});
  EXPECT_EQ(result_of(alone), expected);
  EXPECT_SAYS(alone.out, "validating toy_model on mnist: 50 samples");
  // There need not be a whole batch of training samples.
  EXPECT_EQ(result_of(validated({path("alone/w.h5"), "--train-samples=10"})), expected);
  const Result flag = validated({path("alone/w.h5"), "--model=mnist_cnn"});
  EXPECT_NE(flag.code, app::kDone);  // the flag wins, and the weights do not fit
}

TEST_F(Validate, ARunWithoutCheckpointsIsAnError) {
  EXPECT_EQ(train({"--ckpts-per-epoch=0"}).code, app::kDone);
  const Result result = validate({path("run")});
  EXPECT_EQ(result.code, app::kUsage);
  EXPECT_SAYS(result.err, path("run/checkpoints"), "no checkpoint epoch_<number>.h5");
  fs::create_directories(path("run/checkpoints"));
  EXPECT_EQ(validate({"--run-dir", path("run")}).code, app::kUsage);
  const Result random = run({"train", "--training=false", "--dataset-path", folder_.path.string(),
                             "--run-dir", path("random"), "--seed=1"});
  EXPECT_EQ(random.code, app::kDone);
  EXPECT_SAYS(random.out, "warning: ", "random weights are validated");
}

TEST_F(Validate, WeightsBeyondTheRangeOfF16AreTold) {
  EXPECT_EQ(train().code, app::kDone);
  store::WeightsFile file = store::read_weights_file(path("run/checkpoints/epoch_2.0.h5"));
  for (store::LayerWeights& layer : file.layers) {
    if (!layer.weights.empty()) layer.weights.back().value.f32()[0] = 1e6F;
  }
  store::write_weights_file(path("epoch_2.0.h5"), file);
  const std::vector<std::string> flags = {"--dataset-path", folder_.path.string(),
                                          "--precision=16.16"};
  const auto told = [&](std::vector<std::string> args) {
    args.insert(args.end(), flags.begin(), flags.end());
    return run(args).out;
  };
  const std::string warning = "' is beyond the range of f16, up to 1e+06, and became 65504";
  EXPECT_SAYS(told({"validate", path("epoch_2.0.h5"), "--output-dir", path("out")}), warning);
  EXPECT_SAYS(
      told({"train", "--weights", path("epoch_2.0.h5"), "--epochs=0", "--run-dir", path("a")}),
      warning);
  EXPECT_SAYS(told({"train", "--resume", path("epoch_2.0.h5"), "--epochs=2", "--seed=1",
                    "--run-dir", path("b")}),
              "warning: --resume: 1 weight of '");
}

TEST_F(Validate, AFolderOfCheckpointsAndAFile) {
  const std::string expected = result_of(train());
  const std::vector<std::string> flags = {"--dataset-path", folder_.path.string(), "--quiet",
                                          "--slices=2",     "--output-dir",        path("out")};
  const auto validated = [&](const std::vector<std::string>& what) {
    std::vector<std::string> args = what;
    args.insert(args.end(), flags.begin(), flags.end());
    return result_of(validate(args));
  };
  EXPECT_EQ(validated({path("run/checkpoints")}), expected);
  EXPECT_EQ(rows("out").size(), 2u);
  EXPECT_EQ(validated({"--checkpoint-input-dir", path("run/checkpoints")}), expected);
  EXPECT_EQ(validated({path("run/checkpoints/epoch_2.0.h5")}), expected);
  EXPECT_EQ(rows("out").size(), 1u);
  EXPECT_EQ(rows("out")[0]["epoch"], 2.0);
  EXPECT_EQ(validated({"--weights", path("run/checkpoints/epoch_2.0.h5")}), expected);
  EXPECT_NE(validated({"--weights", path("run/checkpoints/epoch_1.0.h5")}), expected);
}

TEST_F(Validate, ARunWhoseCheckpointsAreElsewhere) {
  const std::string expected =
      result_of(train({"--checkpoint-output-dir", path("elsewhere"), "--keep-best"}));
  EXPECT_FALSE(fs::exists(path("run/checkpoints")));
  const Result result = validate({path("run")});
  EXPECT_EQ(result_of(result), expected);
  EXPECT_EQ(result.out.find("best.h5"), std::string::npos) << result.out;
}

TEST_F(Validate, FlagsWinOverTheConfigurationOfTheRun) {
  const std::string expected = result_of(train({"--num-replicas=2", "--micro-batch-size=16"}));
  const Result result =
      validate({path("run"), "--validation-num-replicas=1", "--validation-micro-batch-size=50",
                "--quiet", "--output-dir", path("out")});
  EXPECT_EQ(result_of(result), expected);
  EXPECT_SAYS(folder_.read("out/config.yml"), "validation-num-replicas: 1 ");
  EXPECT_SAYS(folder_.read("out/config.yml"), "num-replicas: 2 ");
}

TEST_F(Validate, ADamagedCheckpointIsAFailure) {
  train();
  folder_.write("run/checkpoints/epoch_1.0.h5", "damaged");
  const Result result = validate({path("run"), "--quiet"});
  EXPECT_EQ(result.code, app::kFailed);
  EXPECT_SAYS(result.out, "test accuracy: ");
  EXPECT_SAYS(result.out, "damaged and not validated: " + path("run/checkpoints/epoch_1.0.h5"));
  EXPECT_SAYS(result.out, "epoch_1.0.h5 is left out: ");  // the reason, although --quiet
}

TEST_F(Validate, WrongUseLeavesNothingBehind) {
  train();
  const std::string weights = path("run/checkpoints/epoch_1.0.h5");
  fs::create_directory(path("empty"));
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "nothing to validate"},
      {{path("absent.h5")}, "absent.h5' does not exist"},
      {{"--weights", path("absent.h5")}, "'" + path("absent.h5") + "' is not a file"},
      {{path("empty")}, "has no checkpoint epoch_<number>.h5"},
      {{"--checkpoint-input-dir", path("absent")}, "--checkpoint-input-dir: "},
      {{"--run-dir", path("empty")}, path("empty/config.yml")},
      {{path("run"), "--config-path", path("run/config.yml")}, "--config-path"},
      {{path("run"), "--run-dir", path("run")}, "--run-dir"},
      {{weights, "--checkpoint-input-dir", path("run/checkpoints")},
       "--weights and --checkpoint-input-dir"},
      {{path("run"), "--training"}, "--training"},
      {{path("run"), "--validation=false"}, "--validation"},
      {{path("run"), "--resume=auto"}, "--resume"},
      {{path("run"), "--dry-run"}, "--dry-run"},
      {{path("run"), "--keep-best"}, "--keep-best"},
      {{path("run"), "--modle=x"}, "--modle"},
      {{path("run"), path("run")}, "unexpected argument"},
  };
  for (const auto& [args, text] : cases) {
    const Result result = validate(args);
    EXPECT_EQ(result.code, app::kUsage) << result.err;
    EXPECT_SAYS(result.err, text);
    EXPECT_FALSE(fs::exists(path("run/validation"))) << text;
  }
}

TEST_F(Validate, HelpShowsWhatMattersAndHidesTraining) {
  const Result result = validate({"--help"});
  EXPECT_EQ(result.code, app::kDone);
  EXPECT_SAYS(result.out, "usage: pando validate [WHAT] [flags]");
  for (const char* flag : {"weights", "checkpoint-input-dir", "run-dir", "output-dir", "model",
                           "dataset", "validation-num-replicas", "micro-batch-size", "quiet"}) {
    EXPECT_SAYS(result.out, std::string("\n  --") + flag + " ");
  }
  for (const char* flag : {"training", "learning-rate", "optimizer", "num-epochs", "clean-dir",
                           "dry-run", "logs-per-epoch"}) {
    EXPECT_EQ(result.out.find(std::string("\n  --") + flag + " "), std::string::npos) << flag;
  }
  EXPECT_EQ(run({"help", "validate"}).out, result.out);
}

TEST_F(Validate, OptionsOfTrainingInAFileAreReset) {
  train();
  folder_.write("own.yml",
                "clean-dir: true\nkeep-best: true\nverify: true\ncompile-report: true\n"
                "mlperf-logging: true\ntrace: t.json\nprofile: reports\nvalidation: during\n");
  const Result result = validate(
      {path("run/checkpoints/epoch_1.0.h5"), "--config-path", path("own.yml"), "--print-config"});
  EXPECT_EQ(result.code, app::kDone) << result.err;
  for (const char* option :
       {"training", "clean-dir", "keep-best", "verify", "compile-report", "mlperf-logging"}) {
    EXPECT_SAYS(result.out, std::string("\n") + option + ": false ");
  }
  EXPECT_SAYS(result.out, "\nvalidation: after ");
  EXPECT_EQ(result.out.find("t.json"), std::string::npos);
  EXPECT_EQ(result.out.find("reports"), std::string::npos);
}

TEST_F(Validate, PrintConfigShowsWhatWillBeValidated) {
  train();
  const Result result = validate({path("run"), "--print-config"});
  EXPECT_EQ(result.code, app::kDone) << result.err;
  EXPECT_SAYS(result.out, "checkpoint-input-dir: " + path("run/checkpoints"));
  EXPECT_SAYS(result.out, "training: false");
  EXPECT_FALSE(fs::exists(path("run/validation")));
}

}  // namespace
}  // namespace pando::cli
