#include "pando/app/run/training_run.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/app/job/exit_code.h"
#include "pando/base/memory_limit.h"
#include "tests/app/training_run_fixture.h"
#include "tests/support/expect_error.h"
#include "tests/support/kept_environment.h"

namespace pando::app {
namespace {

// Raises SIGTERM when a text that begins with `wanted` is written to it.
class SignalAt : public std::stringbuf {
 public:
  explicit SignalAt(std::string wanted) : wanted_(std::move(wanted)) {}
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    if (std::string_view(text, static_cast<size_t>(size)).starts_with(wanted_) && !sent_) {
      sent_ = true;
      std::raise(SIGTERM);
    }
    return std::stringbuf::xsputn(text, size);
  }
  bool sent() const { return sent_; }

 private:
  std::string wanted_;
  bool sent_ = false;
};

TEST_F(TrainingRunTest, WritesTheRunDirectory) {
  EXPECT_EQ(run_training(options("run")), kDone);
  EXPECT_EQ(folder_.read("run/config.yml"), "model: mnist_cnn\n");
  const auto rows = nlohmann::json::parse(folder_.read("run/history.json"));
  ASSERT_EQ(rows.size(), 4u);  // of each epoch one of training and one of its checkpoint
  EXPECT_EQ(rows[2]["learning_rate"], 0.05);
  for (const size_t i : {0, 2}) {
    EXPECT_EQ(rows[i]["epoch"], static_cast<double>(i / 2 + 1));
    EXPECT_EQ(rows[i]["step"], 3 * (i / 2 + 1));
    for (const char* key : {"loss", "accuracy", "throughput", "seconds"}) {
      EXPECT_TRUE(rows[i][key].is_number()) << key;
    }
    EXPECT_EQ(rows[i + 1]["epoch"], rows[i]["epoch"]);
    EXPECT_EQ(rows[i + 1]["step"], rows[i]["step"]);
    EXPECT_TRUE(rows[i + 1]["val_loss"].is_number() && rows[i + 1]["val_accuracy"].is_number());
  }
  EXPECT_LT(rows[2]["loss"], rows[0]["loss"]);
  const std::string log = folder_.read("run/log.txt");
  EXPECT_NE(log.find("test accuracy: "), std::string::npos);
  EXPECT_NE(log.find("8 samples"), std::string::npos) << log;
  EXPECT_TRUE(std::filesystem::exists(folder_.path / "run/checkpoints/epoch_1.0.h5"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path / "run/checkpoints/epoch_2.0.h5"));
}

// Replaces the kernel of the first layer for which two were timed by another one.
void choose_another(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    auto kept = nlohmann::json::parse(file);
    for (auto& layer : kept["layers"]) {
      layer["kernel"] = layer["table"];
      if (!layer["layer"].get<std::string>().starts_with("conv")) continue;
      for (const auto& time : layer["times"]) {
        if (time["kernel"] != layer["table"]) layer["kernel"] = time["kernel"];
      }
    }
    std::ofstream(entry.path()) << kept;
  }
}

std::vector<float> numbers_of(const TrainingState& state) {
  std::vector<float> numbers;
  for (const store::LayerWeights& layer : state.weights.layers) {
    for (const store::NamedWeight& weight : layer.weights) {
      const std::span<const float> own = weight.value.f32();
      numbers.insert(numbers.end(), own.begin(), own.end());
    }
  }
  return numbers;
}

std::vector<std::string> texts_of(const ConfigValue& list) {
  std::vector<std::string> texts;
  for (const ConfigValue& item : list.items) texts.push_back(item.text);
  return texts;
}

TEST_F(TrainingRunTest, RecordsTheKernelsThatItTimed) {
  const testing_support::KeptEnvironment cache("XDG_CACHE_HOME", (folder_.path / "cache").c_str());
  const auto tuned_run = [&](const std::string& name) {
    TrainOptions tuned = options(name);
    tuned.tune = Tuning::quick;
    tuned.num_epochs = 1;
    tuned.quiet = false;
    tuned.config_text = "model: mnist_cnn\ntune: quick\nkernel-choices: []\n";
    EXPECT_EQ(run_training(tuned), kDone);
    EXPECT_SAYS(folder_.read(name + "/log.txt"), "--tune quick: ");
  };
  tuned_run("first");
  EXPECT_SAYS(out_.str(), "--tune quick: ", " from the table");
  choose_another(folder_.path / "cache/pando/kernels");
  tuned_run("tuned");
  const ConfigValue config = parse_yaml(folder_.read("tuned/config.yml"), "");
  EXPECT_EQ(config.find("tune")->text, "off");
  ASSERT_NE(config.find("kernel-choices"), nullptr);
  // The recorded choices give the same bits.
  TrainOptions repeated = options("repeated");
  repeated.num_epochs = 1;
  repeated.kernel_choices = texts_of(*config.find("kernel-choices"));
  ASSERT_FALSE(repeated.kernel_choices.empty());
  EXPECT_EQ(run_training(repeated), kDone);
  EXPECT_EQ(out_.str().find("without effect"), std::string::npos) << out_.str();
  const auto state_of = [&](const char* run) {
    return load_training_state((folder_.path / run / "checkpoints/epoch_1.0.h5").string());
  };
  const TrainingState first = state_of("tuned");
  const TrainingState second = state_of("repeated");
  EXPECT_EQ(first.notes.at("kernel_choices"), second.notes.at("kernel_choices"));
  EXPECT_EQ(numbers_of(first), numbers_of(second));
}

TEST_F(TrainingRunTest, WarnsOfKernelsThatItCannotUse) {
  TrainOptions one = options("one");
  one.kernel_choices = {"conv/1x2x3x4/somewhere=direct"};
  EXPECT_EQ(run_training(one), kDone);
  EXPECT_SAYS(out_.str(), "warning: --kernel-choices: 1 choice", "conv/1x2x3x4/somewhere");
}

// Memory is counted first, so a run that is refused has timed nothing.
TEST_F(TrainingRunTest, DoesNotTimeTheKernelsOfARunThatDoesNotFit) {
  const testing_support::KeptEnvironment cache("XDG_CACHE_HOME", (folder_.path / "cache").c_str());
  TrainOptions tuned = options("tuned");
  tuned.tune = Tuning::quick;
  tuned.devices.memory_limit.bytes = 1;
  EXPECT_THROW(run_training(tuned), OverMemoryLimit);
  set_memory_limit(0);
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "cache"));
}

TEST_F(TrainingRunTest, CheckpointsAreBitIdenticalOnAnyNumberOfThreads) {
  const std::string file = "/checkpoints/epoch_2.0.h5";
  TrainOptions one = options("one");
  one.threads = 1;
  run_training(one);
  const std::string weights = folder_.read("one" + file);
  ASSERT_FALSE(weights.empty());
  for (const int threads : {2, 3}) {
    TrainOptions more = options("more");
    more.threads = threads;
    run_training(more);
    EXPECT_EQ(folder_.read("more" + file), weights) << threads << " threads";
  }
  TrainOptions other_seed = options("seed");
  other_seed.seed = 2;
  run_training(other_seed);
  EXPECT_NE(folder_.read("seed" + file), weights);
}

TEST_F(TrainingRunTest, ASignalStopsWithACheckpoint) {
  TrainOptions endless = options("run");
  endless.num_epochs = 1000000;
  endless.phases.validation = ValidationTime::off;
  std::thread sender([&] {
    while (!std::filesystem::exists(folder_.path / "run/checkpoints/epoch_1.0.h5")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    kill(getpid(), SIGTERM);
  });
  EXPECT_EQ(run_training(endless), kStopped);
  sender.join();
  EXPECT_NE(folder_.read("run/log.txt").find("stopped by SIGTERM"), std::string::npos);
}

// The summary of the model is written before there is a run directory.
TEST_F(TrainingRunTest, ASignalBeforeTrainingStopsItWithACheckpoint) {
  SignalAt buffer("Model: ");
  std::ostream out(&buffer);
  TrainOptions given = options("run");
  given.quiet = false;
  EXPECT_EQ(app::run_training(given, out), kStopped);
  EXPECT_TRUE(buffer.sent());
  EXPECT_TRUE(std::filesystem::exists(folder_.path / "run/checkpoints/epoch_0.0.h5"));
  given.checkpoints.resume = "auto";
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_EQ(run_training(options("whole")), kDone);
  const std::string file = "/checkpoints/epoch_2.0.h5";
  EXPECT_EQ(folder_.read("run" + file), folder_.read("whole" + file));
}

TEST_F(TrainingRunTest, ASignalAfterTheLastUpdateStopsTheValidation) {
  SignalAt buffer("trace of");
  std::ostream out(&buffer);
  TrainOptions given = options("run");
  given.trace = (folder_.path / "trace.json").string();
  given.quiet = false;
  EXPECT_EQ(app::run_training(given, out), kStopped);
  EXPECT_TRUE(buffer.sent());
  const std::string log = folder_.read("run/log.txt");
  EXPECT_NE(log.find("saved " + (folder_.path / "run/checkpoints/epoch_2.0.h5").string()),
            std::string::npos)
      << log;
  EXPECT_EQ(log.find("test accuracy"), std::string::npos);
  given.trace.clear();
  given.checkpoints.resume = "auto";
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_NE(folder_.read("run/log.txt").find("test accuracy"), std::string::npos);
}

TEST_F(TrainingRunTest, ASignalInTheLastValidationStopsNothing) {
  SignalAt buffer("evaluate");  // the graph of the first validation
  std::ostream out(&buffer);
  TrainOptions dumping = options("run");
  dumping.phases.validation = ValidationTime::after;
  dumping.dump_ir = "-";
  dumping.num_epochs = 1;
  EXPECT_EQ(app::run_training(dumping, out), kDone);
  EXPECT_TRUE(buffer.sent());
  EXPECT_NE(buffer.str().find("test accuracy: "), std::string::npos);
  EXPECT_EQ(folder_.read("run/log.txt").find("stopped"), std::string::npos);
}

TEST_F(TrainingRunTest, ASignalWithinAnEvaluationEndsIt) {
  SignalAt buffer("evaluate");  // the graph of the first validation
  std::ostream out(&buffer);
  TrainOptions dumping = options("run");
  dumping.phases.validation = ValidationTime::after;
  dumping.dump_ir = "-";
  dumping.num_epochs = 1;
  dumping.steps_per_execution = 10;
  dumping.phases.validation_micro_batch_size = 1;  // fifty steps
  EXPECT_EQ(app::run_training(dumping, out), kStopped);
  EXPECT_NE(folder_.read("run/log.txt").find("in the validation, after 0 checkpoints\n"),
            std::string::npos);
}

// What was trained is saved without waiting for the validation, which the resumed run makes up for.
TEST_F(TrainingRunTest, ASignalInAValidationDuringTrainingSavesAndStops) {
  SignalAt buffer("evaluate");  // the graph of the first validation
  std::ostream out(&buffer);
  TrainOptions dumping = options("run");
  dumping.dump_ir = "-";
  EXPECT_EQ(app::run_training(dumping, out), kStopped);
  std::string log = folder_.read("run/log.txt");
  EXPECT_EQ(log.find("validation epoch 1.0"), std::string::npos) << log;
  EXPECT_NE(log.find("--resume auto"), std::string::npos) << log;
  TrainOptions resumed = options("run");
  resumed.checkpoints.resume = "auto";
  EXPECT_EQ(run_training(resumed), kDone);
  log = folder_.read("run/log.txt");
  const size_t second = log.find("validation epoch 2.0");
  const size_t first = log.find("validation epoch 1.0");
  EXPECT_LT(second, first) << log;
  EXPECT_LT(first, log.find("test accuracy: ")) << log;
}

TEST_F(TrainingRunTest, ASignalInAnEarlierValidationStopsAfterIt) {
  SignalAt buffer("evaluate");  // the graph of the first validation
  std::ostream out(&buffer);
  TrainOptions dumping = options("run");
  dumping.phases.validation = ValidationTime::after;
  dumping.dump_ir = "-";
  EXPECT_EQ(app::run_training(dumping, out), kStopped);
  const std::string log = folder_.read("run/log.txt");
  EXPECT_NE(log.find("validation epoch 1.0: accuracy: "), std::string::npos) << log;
  EXPECT_NE(log.find("stopped by SIGTERM in the validation, after 1 checkpoint\n"),
            std::string::npos)
      << log;
  EXPECT_EQ(log.find("test accuracy"), std::string::npos) << log;
  const auto rows = nlohmann::json::parse(folder_.read("run/history.json"));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2]["epoch"], 1.0);
  EXPECT_TRUE(rows[2]["val_accuracy"].is_number());
}

TEST_F(TrainingRunTest, ItsConfigurationRepeatsItOnOtherThreads) {
  const auto checkpoint_of = [&](const std::string& name, std::vector<std::string> args) {
    args.insert(args.end(), {"--run-dir", (folder_.path / name).string()});
    const TrainOptions parsed = parse_train_options(args, out_).value();
    EXPECT_EQ(run_training(parsed), kDone);
    return folder_.read(name + "/checkpoints/epoch_1.0.h5");
  };
  const std::string first = checkpoint_of(
      "first", {"--dataset-path", folder_.path.string(), "--epochs=1", "--threads=3", "--quiet"});
  ASSERT_FALSE(first.empty());
  const std::string config = (folder_.path / "first/config.yml").string();
  EXPECT_EQ(checkpoint_of("again", {"--config-path", config, "--threads=1"}), first);
  EXPECT_NE(checkpoint_of("other", {"--config-path", config, "--slices=1"}), first);
}

TEST_F(TrainingRunTest, TellsWhenTheDataSetIsNotTheModelsOwn) {
  TrainOptions toy = options("run");
  toy.model = "toy_model";
  toy.num_epochs = 1;
  toy.quiet = false;
  EXPECT_EQ(run_training(toy), kDone);
  const std::string line = "toy_model is made for cifar10; training it on fashion_mnist\n";
  EXPECT_NE(out_.str().find(line), std::string::npos) << out_.str();
  EXPECT_NE(folder_.read("run/log.txt").find(line), std::string::npos);
  toy.model = "mnist_cnn";
  toy.run_dir = (folder_.path / "own").string();
  EXPECT_EQ(run_training(toy), kDone);
  EXPECT_EQ(folder_.read("own/log.txt").find("made for"), std::string::npos);
}

TEST_F(TrainingRunTest, DryRunLeavesNothingBehind) {
  TrainOptions dry = options("dry");
  dry.dry_run = true;
  EXPECT_EQ(run_training(dry), kDone);
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "dry"));
}

TEST_F(TrainingRunTest, DumpsTheGraphAfterEachPass) {
  TrainOptions dumping = options("run");
  dumping.dry_run = true;
  dumping.dump_ir = (folder_.path / "ir").string();
  run_training(dumping);
  EXPECT_NE(folder_.read("ir/train.fuse-conv-pool.ir").find("conv_pool"), std::string::npos);
  EXPECT_EQ(folder_.read("ir/train.fuse-post-ops.ir").find(" relu("), std::string::npos);
}

TEST_F(TrainingRunTest, WrongOptionsLeaveNothingBehind) {
  TrainOptions unknown = options("run");
  unknown.model = "mnist_cn";
  EXPECT_NE(message_of<InvalidArgument>([&] { run_training(unknown); }).find("'mnist_cnn'"),
            std::string::npos);
  TrainOptions pass = options("run");
  pass.disable_pass = {"fuse-everything"};
  EXPECT_NE(message_of<InvalidArgument>([&] { run_training(pass); }).find("unknown pass"),
            std::string::npos);
  TrainOptions wrong_shape = options("run");
  wrong_shape.model = "cosmoflow";
  const std::string shapes = message_of<InvalidArgument>([&] { run_training(wrong_shape); });
  EXPECT_SAYS(shapes, "[64,64,64,4]");
  EXPECT_SAYS(shapes, "--dataset cosmoflow");
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "run"));
}

// A launcher that restarts failed jobs does not restart this one.
TEST_F(TrainingRunTest, ARunDirectoryThatCannotBeMadeIsAWrongOption) {
  TrainOptions options = this->options("run");
  options.run_dir = folder_.write("file", "x");
  const std::string said = testing_support::error_of<UsageError>([&] { run_training(options); });
  EXPECT_SAYS(said, options.run_dir + ": cannot be created: Not a directory");
  TrainOptions dump = this->options("run");
  std::filesystem::create_symlink("loop", folder_.path / "loop");
  dump.dump_ir = (folder_.path / "loop").string();
  EXPECT_SAYS(testing_support::error_of<UsageError>([&] { run_training(dump); }),
              "--dump-ir: ", "loop", "use another path");
}

TEST_F(TrainingRunTest, DivergenceEndsWithItsOwnExitCode) {
  TrainOptions wild = options("run");
  wild.schedule.learning_rate = 1e9;
  try {
    run_training(wild);
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_EQ(exit_code_of(error), kNonFiniteLoss) << error.what();
    EXPECT_NE(folder_.read("run/log.txt").find(std::string("failed: ") + error.what()),
              std::string::npos);
  }
}

}  // namespace
}  // namespace pando::app
