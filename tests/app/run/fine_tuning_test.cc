// Runs that start with a trained network: from a file or with weights, with a new classifier and
// frozen layers.
// SPDX-License-Identifier: MIT
#include "pando/app/run/fine_tuning.h"

#include <filesystem>

#include "pando/app/flags/validate_options.h"
#include "pando/app/job/exit_code.h"
#include "pando/nn/layers.h"
#include "pando/train/keras_model.h"
#include "pando/train/load_model.h"
#include "pando/train/onnx_model.h"
#include "tests/app/parse_options.h"
#include "tests/app/training_run_fixture.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;

Network tunable() {
  return Sequential({28, 28, 1},
                    {Conv2D({.filters = 4, .kernel = {5, 5}, .strides = {3, 3}, .name = "conv"}),
                     BatchNormalization({.name = "norm"}), Flatten({.name = "flat"}),
                     Dropout({.rate = 0.2, .name = "drop"}),
                     Dense({.units = 6, .activation = "softmax", .name = "last"})});
}

TEST(FrozenLayers, AreAllButTheHeadOrUpToALayer) {
  EXPECT_EQ(frozen_layers(tunable(), {.freeze = "all"}),
            (std::vector<std::string>{"conv", "norm", "flat"}));
  EXPECT_EQ(frozen_layers(tunable(), {.freeze = "until:norm"}),
            (std::vector<std::string>{"conv", "norm"}));
  EXPECT_TRUE(frozen_layers(tunable(), {}).empty());
}

TEST(FrozenLayers, MustExistAndLeaveSomething) {
  const auto error = [](const Network& network, const std::string& freeze) {
    return error_of<UsageError>([&] { frozen_layers(network, {.freeze = freeze}); });
  };
  EXPECT_SAYS(error(tunable(), "until:covn"), "--freeze until", "covn", "conv");
  EXPECT_SAYS(error(tunable(), "until:last"), "no layer with weights");
  const Network pixels = Sequential({8, 8, 3}, {Conv2D({.filters = 3, .kernel = {3, 3}})});
  EXPECT_SAYS(error(pixels, "all"), "--freeze all", "dense layer");
  EXPECT_SAYS(error_of<UsageError>([&] { head_rates(pixels, {.head_learning_rate = 1}, 0.1); }),
              "--head-learning-rate", "dense layer");
  EXPECT_SAYS(error_of<UsageError>([&] { head_rates(tunable(), {.head_learning_rate = 1}, 0); }),
              "--head-learning-rate", "above 0");
}

TEST(FeatureLayer, IsTheLastThatCannotChange) {
  EXPECT_EQ(feature_layer(tunable(), {"conv", "norm", "flat"}, {}), "flat");
  EXPECT_EQ(feature_layer(tunable(), {"conv", "norm"}, {}), "norm");
  EXPECT_EQ(feature_layer(tunable(), {"norm"}, {"conv"}), "norm");
  EXPECT_EQ(feature_layer(tunable(), {"norm"}, {}), "");
  EXPECT_EQ(feature_layer(tunable(), {}, {"conv"}), "");
}

class FineTuning : public TrainingRunTest {
 protected:
  FineTuning() {
    Model trained(tunable(), {.seed = 9});
    save_onnx(trained, model());
  }
  std::string model() const { return (folder_.path / "trained.onnx").string(); }
  std::string run_of(const std::string& name) const { return (folder_.path / name).string(); }
  // Two epochs on two classes.
  std::vector<std::string> arguments(const std::string& run,
                                     const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"--model",
                                    model(),
                                    "--dataset-path",
                                    folder_.path.string(),
                                    "--dataset",
                                    "mnist",
                                    "--num-epochs",
                                    "2",
                                    "--seed",
                                    "1",
                                    "--micro-batch-size",
                                    "16",
                                    "--slices",
                                    "2",
                                    "--quiet",
                                    "--run-dir",
                                    run_of(run)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  int train(const std::string& run, const std::vector<std::string>& more) {
    return run_training(parse(arguments(run, more)));
  }
  std::string refused(const std::vector<std::string>& more) {
    return error_of<UsageError>([&] { train("refused", more); });
  }
  std::string log(const std::string& run) const { return folder_.read(run + "/log.txt"); }
  std::string checkpoint(const std::string& run, const std::string& epoch = "2.0") const {
    return folder_.read(run + "/checkpoints/epoch_" + epoch + ".h5");
  }
  void expect_same_weights(const std::string& a, const std::string& b,
                           const std::string& epoch) const {
    const Model first = weights_of(a, epoch);
    const Model second = weights_of(b, epoch);
    for (const std::string& name : first.weight_names()) {
      EXPECT_TRUE(std::ranges::equal(first.get_weight(name).f32(), second.get_weight(name).f32()))
          << name;
    }
  }
  Model weights_of(const std::string& run, const std::string& epoch) const {
    Model model(Sequential(
        {28, 28, 1}, {Conv2D({.filters = 4, .kernel = {5, 5}, .strides = {3, 3}, .name = "conv"}),
                      BatchNormalization({.name = "norm"}), Flatten({.name = "flat"}),
                      Dense({.units = 10, .name = "last"})}));
    model.load_weights(run_of(run) + "/checkpoints/epoch_" + epoch + ".h5");
    return model;
  }
};

TEST_F(FineTuning, AFileMustFitTheData) {
  EXPECT_SAYS(refused({}), "trained.onnx", "6 outputs", "10 classes", "--classes auto");
  EXPECT_SAYS(refused({"--classes", "3"}), "--classes 3", "10 classes");
  save_onnx(
      Model(Sequential({32, 32, 3}, {Conv2D({.filters = 2}), Flatten(), Dense({.units = 10})})),
      model());
  EXPECT_SAYS(refused({}), "trained.onnx", "[32,32,3]", "[28,28,1]", "--dataset");
  save_onnx(Model(Sequential({28, 28, 1},
                             {Conv2D({.filters = 3, .kernel = {3, 3}}), GlobalAveragePooling2D()})),
            model());
  EXPECT_SAYS(refused({"--classes", "auto"}), "--model", "dense layer", "1x1");
}

TEST_F(FineTuning, LayersThatTheFileFreezesStayFrozen) {
  const std::string file = (folder_.path / "frozen.keras").string();
  Model trained(tunable(), {.seed = 9});
  for (const char* layer : {"conv", "norm", "last"}) trained.set_trainable(layer, false);
  save_model(trained, file);
  const auto options = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"--model", file};
    all.insert(all.end(), more.begin(), more.end());
    return parse(all);
  };
  const std::vector<std::string> both = {"conv", "norm"};
  EXPECT_EQ(layers_frozen_by_file(tunable(), options({"--classes", "auto"})), both);
  EXPECT_TRUE(layers_frozen_by_file(tunable(), options({"--freeze", "none"})).empty());
  EXPECT_SAYS(error_of<UsageError>([&] { layers_frozen_by_file(tunable(), options({})); }),
              "frozen.keras", "--freeze none");
  ASSERT_EQ(train("run", {"--model", file, "--classes", "auto", "--num-epochs", "1"}), kDone);
  EXPECT_SAYS(log("run"), "2 layers are frozen by the file");
  EXPECT_TRUE(std::ranges::equal(weights_of("run", "1.0").get_weights()[0].f32(),
                                 trained.get_weights()[0].f32()));
}

TEST_F(FineTuning, SaysThatTheOptimizerOfAFileIsNotTaken) {
  const std::string file = (folder_.path / "trained.h5").string();
  Model trained(tunable(), {.seed = 9});
  trained.compile({.optimizer = Adam(), .loss = "sparse_categorical_crossentropy"});
  trained.fit(Tensor(DType::f32, {2, 28, 28, 1}), Tensor(DType::i32, {2}), {.verbose = 0});
  const TrainingState state = trained.training_state();
  save_keras(trained, file, {.training = &state});
  ASSERT_EQ(train("run", {"--model", file, "--classes", "auto", "--num-epochs", "1"}), kDone);
  EXPECT_SAYS(log("run"), "state of its optimizer", "a new one");
  ASSERT_EQ(train("other", {"--classes", "auto", "--num-epochs", "1"}), kDone);
  EXPECT_EQ(log("other").find("optimizer; training begins"), std::string::npos);
}

TEST_F(FineTuning, AFileForSeveralLabelsIsTrainedForOne) {
  save_onnx(
      Model(Sequential({28, 28, 1}, {Conv2D({.filters = 2, .kernel = {3, 3}, .strides = {3, 3}}),
                                     Flatten(), Dense({.units = 10, .activation = "sigmoid"})})),
      model());
  ASSERT_EQ(train("run", {"--num-epochs", "1"}), kDone);
  EXPECT_SAYS(log("run"), "sigmoid", "trained with softmax");
  const TrainingState state = load_training_state(run_of("run") + "/checkpoints/epoch_1.0.h5");
  EXPECT_SAYS(state.notes.at("pando.origin"), "trained.onnx");
  EXPECT_EQ(state.notes.at("pando.origin").find(folder_.path.string()), std::string::npos);
}

TEST_F(FineTuning, FreezesAllButTheNewClassifier) {
  ASSERT_EQ(train("run", {"--classes", "auto", "--freeze", "all"}), kDone) << out_.str();
  EXPECT_SAYS(log("run"), "starting with the weights of", "trained.onnx", "new classifier",
              "frozen: 3 of 4 layers, up to 'last/Flatten'", "features of layer 'last/Flatten'");
  const Model before = load_onnx(model());
  const Model after = weights_of("run", "2.0");
  const std::vector<std::string> names = after.weight_names();
  for (size_t i = 0; i < names.size(); ++i) {
    const bool same =
        names[i].starts_with("last/") ||
        std::ranges::equal(after.get_weights()[i].f32(), before.get_weights()[i].f32());
    EXPECT_TRUE(same) << names[i];
  }
}

// The bits do not depend on where features come from, with and without a change in between.
TEST_F(FineTuning, KeptFeaturesGiveTheSameBits) {
  const std::vector<std::vector<std::string>> ways = {
      {"--feature-cache", "off"}, {}, {"--feature-cache", "1"}, {"--num-replicas", "1"}};
  for (const std::string& after : std::vector<std::string>{"0", "2"}) {
    for (size_t i = 0; i < ways.size(); ++i) {
      std::vector<std::string> more = {"--classes",        "auto", "--freeze",     "all",
                                       "--unfreeze-after", after,  "--num-epochs", "3"};
      more.insert(more.end(), ways[i].begin(), ways[i].end());
      ASSERT_EQ(train(after + std::to_string(i), more), kDone) << out_.str();
      EXPECT_TRUE(checkpoint(after + std::to_string(i), "3.0") == checkpoint(after + "0", "3.0"));
    }
    EXPECT_SAYS(log(after + "1"), "kept in memory");
    EXPECT_SAYS(log(after + "2"), "kept in a file");
  }
  EXPECT_SAYS(log("21"), "all are trained after 2 epochs", "all layers are trained from now");
  EXPECT_FALSE(checkpoint("00", "3.0") == checkpoint("20", "3.0"));
  ASSERT_EQ(train("late", {"--classes", "auto", "--freeze", "all", "--unfreeze-after", "1",
                           "--num-epochs", "1"}),
            kDone);
  EXPECT_SAYS(log("late"), "--unfreeze-after 1 does nothing in a run of 1 epoch");
}

TEST_F(FineTuning, FeaturesThatChangeAreNotKept) {
  const std::vector<std::string> tuned = {"--classes", "auto", "--freeze", "all"};
  const auto run = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.end(), tuned.begin(), tuned.end());
    ASSERT_EQ(train(name, more), kDone) << out_.str();
  };
  run("flipped", {"--random-flip", "horizontal"});
  EXPECT_SAYS(log("flipped"), "in every epoch", "at random", "--random-flip none");
  run("half", {"--precision", "16.16"});
  EXPECT_SAYS(log("half"), "in every epoch", "stochastic rounding");
  run("traced", {"--profile", run_of("profile")});
  EXPECT_SAYS(log("traced"), "in every epoch", "--profile");
  run("staged", {"--pipeline-splits", "last/Flatten", "--gradient-accumulation-count", "2"});
  EXPECT_SAYS(log("staged"), "in every epoch", "pipeline");
  run("short", {"--num-epochs", "1"});
  EXPECT_EQ(log("short").find("features"), std::string::npos);
}

TEST_F(FineTuning, ResumesWithoutTheFile) {
  const std::vector<std::string> more = {"--classes",
                                         "auto",
                                         "--freeze",
                                         "all",
                                         "--unfreeze-after",
                                         "1",
                                         "--num-epochs",
                                         "3",
                                         "--head-learning-rate",
                                         "0.1"};
  ASSERT_EQ(train("whole", more), kDone) << out_.str();
  std::vector<std::string> part = more;
  part.insert(part.end(), {"--num-epochs", "2"});
  ASSERT_EQ(train("run", part), kDone) << out_.str();
  fs::rename(model(), run_of("elsewhere.onnx"));
  std::vector<std::string> rest = more;
  rest.insert(rest.end(), {"--resume", "auto"});
  ASSERT_EQ(train("run", rest), kDone) << out_.str();
  expect_same_weights("run", "whole", "3.0");
  // Another network under the old name is another run.
  save_onnx(Model(tunable(), {.seed = 10}), model());
  EXPECT_SAYS(error_of<UsageError>([&] { train("run", rest); }), "--resume", "model", "checksum");
}

TEST_F(FineTuning, HeadLearnsAtItsOwnRate) {
  const std::vector<std::string> slow = {"--classes", "auto",        "--learning-rate",
                                         "1e-30",     "--optimizer", "sgd"};
  std::vector<std::string> fast = slow;
  fast.insert(fast.end(), {"--head-learning-rate", "0.1"});
  ASSERT_EQ(train("slow", slow), kDone) << out_.str();
  ASSERT_EQ(train("fast", fast), kDone) << out_.str();
  const Model first = weights_of("slow", "2.0");
  const Model second = weights_of("fast", "2.0");
  const auto same = [&](const char* name) {
    return std::ranges::equal(first.get_weight(name).f32(), second.get_weight(name).f32());
  };
  EXPECT_TRUE(same("conv/kernel"));
  EXPECT_FALSE(same("last/kernel"));
}

TEST_F(FineTuning, WeightsOfOtherNetworksAreTakenByName) {
  ASSERT_EQ(run_training(options("base")), kDone) << out_.str();
  TrainOptions other = options("other");
  other.data.dataset_classes = {"1", "2", "3"};
  other.checkpoints.weights = run_of("base") + "/checkpoints/epoch_2.0.h5";
  EXPECT_SAYS(error_of<UsageError>([&] { run_training(other); }), "--weights", "--by-name", "[",
              "3]", "10]");
  other.checkpoints.by_name = true;
  other.run_dir = run_of("other2");
  EXPECT_SAYS(error_of<UsageError>([&] { run_training(other); }), "--skip-mismatch");
  other.checkpoints.skip_mismatch = true;
  other.run_dir = run_of("other3");
  ASSERT_EQ(run_training(other), kDone) << out_.str();
  EXPECT_SAYS(log("other3"), "not taken: layer", "has the shape", "of the file");
  other.checkpoints.by_name = other.checkpoints.skip_mismatch = false;
  other.tuning.classes = "auto";
  other.run_dir = run_of("other4");
  ASSERT_EQ(run_training(other), kDone) << out_.str();
  EXPECT_SAYS(log("other4"), "new classifier");
}

TEST_F(FineTuning, LayersThatAreNotInTheFileAreNamed) {
  const Model other(Sequential({28, 28, 1}, {Flatten(), Dense({.units = 7, .name = "foreign"}),
                                             Dense({.units = 6, .name = "last"})}));
  other.save_weights(run_of("foreign.h5"));
  TrainOptions given = options("run");
  given.checkpoints.weights = run_of("foreign.h5");
  given.checkpoints.by_name = true;
  EXPECT_SAYS(error_of<UsageError>([&] { run_training(given); }), "--weights", "no layer");
}

TEST_F(FineTuning, IsValidatedWithTheNetworkOfTheRun) {
  ASSERT_EQ(train("run", {"--classes", "auto", "--freeze", "all"}), kDone) << out_.str();
  fs::remove(model());
  std::ostringstream out;
  const auto validation =
      parse_validate_options(std::vector<std::string>{run_of("run"), "--quiet"}, out);
  ASSERT_TRUE(validation);
  EXPECT_EQ(validation->model, (folder_.path / "run/model.onnx").string());
  EXPECT_EQ(run_training(*validation), kDone) << out_.str();
}

}  // namespace
}  // namespace pando::app
