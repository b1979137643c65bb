#include "pando/app/run/run_identity.h"

#include <set>

#include "pando/app/flags/deciding_options.h"
#include "pando/app/job/exit_code.h"
#include "tests/app/training_run_fixture.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

class RunIdentity : public TrainingRunTest {
 protected:
  RunIdentity() : base_(options("run")) {}

  // What a run with these options says about a checkpoint with these notes.
  std::vector<std::string> told(const TrainOptions& options,
                                const std::map<std::string, std::string>& notes) {
    const TrainingSetup setup(options, out_);
    TrainingState state{.notes = notes};
    state.weights.path = "epoch_1.0.h5";
    std::vector<std::string> lines;
    check_same_run(setup, state, [&](const std::string& line) { lines.push_back(line); });
    return lines;
  }
  std::map<std::string, std::string> notes() { return run_notes(TrainingSetup(base_, out_)); }
  // What it says after a change of the options.
  template <typename Change>
  std::string told_after(Change change) {
    TrainOptions changed = base_;
    change(changed);
    return join(told(changed, notes()), "\n");
  }
  std::string told_by(const std::map<std::string, std::string>& recorded) {
    return join(told(base_, recorded), "\n");
  }
  template <typename Change>
  std::string refused_after(Change change) {
    return testing_support::error_of<UsageError>([&] { told_after(change); });
  }

  TrainOptions base_;
};

TEST_F(RunIdentity, TheSameRunIsSilent) {
  EXPECT_EQ(told(base_, notes()), std::vector<std::string>());
  EXPECT_EQ(told_after([](TrainOptions& given) {
              given.num_epochs = 7;
              given.threads = 1;
              given.prefetch_depth = 1;
            }),
            "");
}

TEST_F(RunIdentity, OptionsThatCountAsAPropertyNameOneThatExists) {
  const TrainingSetup setup(base_, out_);
  std::set<std::string> known;
  for (const RunProperty& property : run_properties(setup)) known.insert(property.name);
  for (const std::string& key : deciding_options(base_).keys) known.insert(key);
  TrainOptions copy = base_;
  OptionTable table;
  add_train_options(table, copy);
  for (const Option& option : table.options()) {
    if (option.counted_as.empty()) continue;
    EXPECT_TRUE(known.contains(option.counted_as)) << option.name << ": " << option.counted_as;
  }
}

TEST_F(RunIdentity, EveryRecordedValueIsCompared) {
  const std::map<std::string, std::string> recorded = notes();
  const auto says = [&](const std::map<std::string, std::string>& changed) {
    try {
      return join(told(base_, changed), "\n");
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  const ConfigValue options = parse_yaml(recorded.at(kOptionsNote), "");
  for (size_t i = 0; i < options.keys.size(); ++i) {
    ConfigValue other = options;
    other.items[i] = ConfigValue::scalar("other");
    std::map<std::string, std::string> changed = recorded;
    changed[kOptionsNote] = to_yaml(other);
    EXPECT_SAYS(says(changed), "--resume: ", "--" + options.keys[i], "other");
  }
  for (const auto& [name, value] : recorded) {
    if (name == kOptionsNote || name == kDatasetPathNote) continue;
    if (name == "network" || name.starts_with("pando.")) continue;  // follow from the others
    std::map<std::string, std::string> changed = recorded;
    changed[name] = "other";
    EXPECT_SAYS(says(changed), "--resume: ", "other");
  }
}

TEST_F(RunIdentity, WhatChangesTheBitsIsTold) {
  EXPECT_SAYS(told_after([](TrainOptions& given) {
                given.optimizer.params.set("momentum", ParameterRange::share, 0.5);
              }),
              "momentum: 0.9", "momentum: 0.5", "--optimizer-params");
  EXPECT_SAYS(told_after([](TrainOptions& given) {
                given.devices.gradient_reduction = GradientReduction::sum;
              }),
              "gradient-reduction was 'mean' and is now 'sum'");
  EXPECT_SAYS(
      told_after([](TrainOptions& given) { given.data.accelerator_side_preprocess = true; }),
      "accelerator-side-preprocess was 'false' and is now 'true'");
  EXPECT_SAYS(told_after([](TrainOptions& given) {
                given.norm_layer.name = "custom_batch_norm";
                given.norm_layer.params.set("momentum", ParameterRange::share, 0.5);
              }),
              "norm-layer was ", "momentum: 0.5");
  EXPECT_SAYS(told_after([](TrainOptions& given) { given.schedule.learning_rate = 0.1; }),
              "learning-rate was '0.05' and is now '0.1'");
  EXPECT_SAYS(told_after([](TrainOptions& given) { given.data.shuffle = false; }), "shuffle was ");
  EXPECT_SAYS(told_after([](TrainOptions& given) {
                given.devices.memory_per_device.bytes = 1 << 30;
                given.counterparts.available_memory_proportion = {10};
              }),
              "scratch memory was ''", "--memory-per-device");
}

TEST_F(RunIdentity, KernelChoicesAreTold) {
  const std::string told = told_after([](TrainOptions& given) {
    given.kernel_choices = {"conv/1x2=direct", concat("conv/", std::string(300, '1'), "=direct")};
  });
  EXPECT_SAYS(told, "kernel choices was '' and is now 'conv/", " ...'", "--tune");
  EXPECT_LT(told.size(), 500u);
  // Versions without them had the fixed table.
  std::map<std::string, std::string> earlier = notes();
  EXPECT_EQ(earlier.erase("kernel_choices"), 1u);
  EXPECT_EQ(told_by(earlier), "");
}

TEST_F(RunIdentity, AnotherRunIsNamed) {
  EXPECT_SAYS(refused_after([](TrainOptions& given) { given.optimizer.name = "adam"; }),
              "optimizer sgd, this run has adam", "--weights");
  EXPECT_SAYS(refused_after([](TrainOptions& given) { given.seed = 9; }), "seed 1", "has 9");
}

TEST_F(RunIdentity, DataAreToldApartByTheirContent) {
  const std::map<std::string, std::string> recorded = notes();
  const TestFolder copy;
  write_mnist(copy);
  TrainOptions moved = base_;
  moved.data.dataset_path = copy.path.string();
  EXPECT_EQ(told(moved, recorded), std::vector<std::string>());
  std::string labels = copy.read("train-labels-idx1-ubyte");
  labels.back() = static_cast<char>((labels.back() + 1) % 10);  // one label of 200
  copy.write("train-labels-idx1-ubyte", labels);
  EXPECT_SAYS(testing_support::error_of<UsageError>([&] { told(moved, recorded); }),
              "training data ", "--dataset-path", "--weights");
}

TEST_F(RunIdentity, AnEarlierVersionCannotBeCheckedWhole) {
  std::map<std::string, std::string> few = {
      {"model", "mnist_cnn"}, {"samples", "200"}, {"global_batch_size", "64"}, {"slices", "1"}};
  const std::vector<std::string> lines = told(base_, few);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_SAYS(lines[0], "slices was '1' and is now '2'");
  EXPECT_SAYS(lines[1], "earlier version", "cannot be checked");
  few["model"] = "toy_model";
  EXPECT_SAYS(testing_support::error_of<UsageError>([&] { told(base_, few); }), "model toy_model");
}

}  // namespace
}  // namespace pando::app
