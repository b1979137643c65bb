// The validation of checkpoints, by runs of `pando train` on a small data set.
#include "pando/app/run/validation_phase.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/app/job/exit_code.h"
#include "pando/app/record/checkpoint_list.h"
#include "pando/app/record/log_line.h"
#include "tests/app/training_run_fixture.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;

class Validation : public TrainingRunTest {
 protected:
  std::string log(const std::string& run) const { return folder_.read(run + "/log.txt"); }
  nlohmann::json rows(const std::string& run) const {
    return nlohmann::json::parse(folder_.read(run + "/history.json"));
  }
  fs::path checkpoints(const std::string& run) const { return folder_.path / run / "checkpoints"; }

  // The rows of validated checkpoints.
  std::vector<nlohmann::json> validated(const std::string& run) const {
    std::vector<nlohmann::json> found;
    for (const auto& row : rows(run)) {
      if (row.contains("val_accuracy") && row["val_accuracy"].is_number()) found.push_back(row);
    }
    return found;
  }

  void expect_same_validations(const std::string& run, const std::string& other) const {
    const std::vector<nlohmann::json> found = validated(run);
    const std::vector<nlohmann::json> wanted = validated(other);
    ASSERT_GT(found.size(), 0u);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) {
      for (const char* name : {"epoch", "step", "val_loss", "val_accuracy"}) {
        EXPECT_EQ(found[i][name], wanted[i][name]) << name << " of row " << i;
      }
    }
  }

  // Validates the checkpoints of an earlier run.
  TrainOptions validation_of(const std::string& earlier, const std::string& run) const {
    TrainOptions given = options(run);
    given.phases.training = false;
    given.phases.checkpoint_input_dir = checkpoints(earlier).string();
    return given;
  }
  // The last line of its output.
  std::string result_of(const TrainOptions& given) {
    out_.str("");
    EXPECT_EQ(run_training(given), kDone) << out_.str();
    const std::string text = out_.str();
    const size_t begin = text.rfind('\n', text.size() - 2);
    return begin == std::string::npos ? text : text.substr(begin + 1);
  }
};

TEST_F(Validation, OfAllCheckpointsInTheOrderOfEpochs) {
  TrainOptions given = options("run");
  given.num_epochs = 11;
  given.quiet = false;
  EXPECT_EQ(run_training(given), kDone);
  std::vector<double> epochs;
  double last_accuracy = 0;
  for (const auto& row : validated("run")) {
    epochs.push_back(row["epoch"].get<double>());
    last_accuracy = row["val_accuracy"].get<double>();
  }
  EXPECT_EQ(epochs, (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  const std::string text = log("run");
  EXPECT_LT(text.find("validation epoch 9.0: accuracy: "), text.find("validation epoch 10.0: "));
  EXPECT_SAYS(text, fmt::format("test accuracy: {:.2f} %\n", 100 * last_accuracy));
  EXPECT_SAYS(text, "time to train = 0:00:");
}

TEST_F(Validation, CanBeLeftOut) {
  TrainOptions given = options("run");
  given.phases.validation = ValidationTime::off;
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(log("run").find("test accuracy"), std::string::npos);
  EXPECT_EQ(rows("run").size(), 2u);
  EXPECT_TRUE(validated("run").empty());
  EXPECT_EQ(log("run").find("time to train"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_.path / "run/confusion.csv"));
}

TEST_F(Validation, OfAnEarlierRunGivesItsResult) {
  const std::string trained = result_of(options("first"));
  EXPECT_SAYS(trained, "test loss: ");
  EXPECT_EQ(result_of(validation_of("first", "again")), trained);
  const auto found = rows("again");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]["val_loss"], validated("first")[0]["val_loss"]);
  EXPECT_EQ(found[1]["val_accuracy"], validated("first")[1]["val_accuracy"]);
  EXPECT_EQ(log("again").find("training"), std::string::npos) << log("again");
  EXPECT_SAYS(log("again"), "validating mnist_cnn", "fashion_mnist", "50 samples");
  EXPECT_FALSE(std::filesystem::exists(checkpoints("again")));
  EXPECT_EQ(checkpoints_in(checkpoints("first")).size(), 2u);
}

// Every sample counts once, for every batch size and number of devices.
TEST_F(Validation, DoesNotDependOnItsBatchReplicasAndPipeline) {
  const std::string expected = result_of(options("first"));
  const auto expect_same = [&](const TrainOptions& given) {
    EXPECT_EQ(result_of(given), expected);
  };
  TrainOptions batch = validation_of("first", "batch");
  batch.phases.validation_micro_batch_size = 7;
  expect_same(batch);
  batch.phases.validation_num_replicas = 3;
  expect_same(batch);
  batch.devices.num_replicas = 2;
  batch.phases.validation_num_replicas = 1;
  expect_same(batch);
  TrainOptions stages = validation_of("first", "stages");
  stages.devices.pipeline_splits = {"conv2d_1"};
  stages.phases.validation_micro_batch_size = 4;
  expect_same(stages);
  stages.devices.pipeline_validation_model = true;
  expect_same(stages);
  stages.phases.validation_num_replicas = 2;
  expect_same(stages);
}

TEST_F(Validation, AfterTrainingHasItsOwnBatchAndReplicas) {
  TrainOptions two = options("two");
  two.devices.num_replicas = 2;
  two.micro_batch_size = 16;
  const std::string expected = result_of(two);
  TrainOptions one = two;
  one.run_dir = (folder_.path / "one").string();
  one.phases.validation_num_replicas = 1;
  one.phases.validation_micro_batch_size = 9;
  EXPECT_EQ(result_of(one), expected);
}

TEST_F(Validation, OfRandomWeightsWarns) {
  TrainOptions random = options("random");
  random.phases.training = false;
  EXPECT_EQ(run_training(random), kDone);
  EXPECT_SAYS(log("random"), "warning:", "no checkpoint", "random weights");
  ASSERT_EQ(rows("random").size(), 1u);
  EXPECT_EQ(rows("random")[0]["epoch"], 0);
  EXPECT_GT(rows("random")[0]["val_loss"], 1.5);
  fs::create_directory(folder_.path / "empty");
  random.phases.checkpoint_input_dir = (folder_.path / "empty").string();
  EXPECT_EQ(run_training(random), kDone);
  EXPECT_SAYS(log("random"), "no checkpoint in " + random.phases.checkpoint_input_dir,
              "random weights");
}

TEST_F(Validation, WithoutCheckpointsTheFinalWeightsAreValidated) {
  const std::string expected = result_of(options("first"));
  fs::create_directory(folder_.path / "empty");
  TrainOptions given = options("run");
  given.phases.checkpoint_input_dir = (folder_.path / "empty").string();
  EXPECT_EQ(result_of(given), expected);
  EXPECT_SAYS(log("run"), "; the final weights are validated\n");
  EXPECT_SAYS(log("run"), "validation epoch 2.0: ");
}

TEST_F(Validation, ADamagedCheckpointIsNamedAndLeftOut) {
  TrainOptions three = options("first");
  three.num_epochs = 3;
  EXPECT_EQ(run_training(three), kDone);
  const std::string second = (checkpoints("first") / "epoch_2.0.h5").string();
  std::string bytes = folder_.read("first/checkpoints/epoch_2.0.h5");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] + 1);
  folder_.write("first/checkpoints/epoch_2.0.h5", bytes);
  folder_.write("first/checkpoints/mine.h5", bytes);
  out_.str("");
  EXPECT_EQ(run_training(validation_of("first", "again")), kFailed);
  EXPECT_SAYS(out_.str(), "damaged and not validated: " + second + "\n");
  EXPECT_SAYS(log("again"), "error: " + second + " is left out: ");
  EXPECT_SAYS(log("again"), "mine.h5", "not validated", "epoch_<number>.h5");
  ASSERT_EQ(rows("again").size(), 2u);
  EXPECT_EQ(rows("again")[1]["epoch"], 3.0);
  EXPECT_SAYS(log("again"), "test accuracy: ");
}

TEST_F(Validation, WhenEveryFileIsDamagedThereIsNoResult) {
  fs::create_directories(folder_.path / "bad/checkpoints");
  folder_.write("bad/checkpoints/epoch_1.0.h5", "no weights");
  EXPECT_EQ(run_training(validation_of("bad", "again")), kFailed);
  EXPECT_EQ(log("again").find("test accuracy"), std::string::npos);
  EXPECT_SAYS(out_.str(), "damaged and not validated: ");
}

TEST_F(Validation, WeightsOfAnotherModelAreAWrongUse) {
  EXPECT_EQ(run_training(options("first")), kDone);
  TrainOptions other = validation_of("first", "again");
  other.model = "toy_model";
  EXPECT_SAYS(error_of([&] { run_training(other); }), "epoch_1.0.h5");
}

TEST_F(Validation, OfOneFile) {
  const std::string expected = result_of(options("first"));
  TrainOptions given = options("again");
  given.phases.training = false;
  given.checkpoints.weights = (checkpoints("first") / "epoch_2.0.h5").string();
  EXPECT_EQ(result_of(given), expected);
  ASSERT_EQ(rows("again").size(), 1u);
  EXPECT_EQ(rows("again")[0]["epoch"], 2.0);
}

// The last checkpoint has weights that learned nothing.
TEST_F(Validation, SaysWhichCheckpointWasBest) {
  TrainOptions trained = options("first");
  trained.num_epochs = 6;
  EXPECT_EQ(run_training(trained), kDone);
  TrainOptions untrained = options("random");
  untrained.num_epochs = 1;
  untrained.schedule.learning_rate = 1e-12;
  EXPECT_EQ(run_training(untrained), kDone);
  EXPECT_EQ(log("first").find("best: "), std::string::npos);
  fs::rename(checkpoints("random") / "epoch_1.0.h5", checkpoints("first") / "epoch_7.0.h5");
  EXPECT_EQ(run_training(validation_of("first", "again")), kDone);
  const std::vector<nlohmann::json> found = validated("again");
  ASSERT_EQ(found.size(), 7u);
  ASSERT_GT(found[5]["val_accuracy"], found[6]["val_accuracy"]);
  EXPECT_SAYS(log("again"), fmt::format("best: epoch 6.0 with test loss: {:.4f}",
                                        found[5]["val_loss"].get<double>()));
  EXPECT_SAYS(out_.str(), fmt::format("test loss: {:.4f}", found[6]["val_loss"].get<double>()));
}

TEST_F(Validation, OfASweepTellsItsFigures) {
  TrainOptions given = options("run");
  given.num_epochs = 5;
  given.phases.sweep = true;
  given.phases.target_accuracy = 0.1;
  EXPECT_EQ(run_training(given), kDone);
  double reached = 0;
  double last = 0;
  for (const auto& row : validated("run")) {
    last = row["val_accuracy"].get<double>();
    if (reached == 0 && last >= 0.1) reached = row["epoch"].get<double>();
  }
  ASSERT_GE(last, 0.1);
  EXPECT_SAYS(log("run"),
              fmt::format("epoch_to_target: {} (target accuracy: 10 %)\n", epoch_text(reached)));
  EXPECT_SAYS(log("run"), "optimization_metric: 0.2\n");
  given.phases.sweep = false;
  given.phases.target_accuracy = 1;
  given.num_epochs = 1;
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_SAYS(log("run"), "epoch_to_target: not reached (target accuracy: 100 %)\n");
  EXPECT_EQ(log("run").find("optimization_metric"), std::string::npos);
}

TEST(ValidationResult, HasFiguresForRecords) {
  ValidationResult result;
  ValidationFlags flags;
  EXPECT_TRUE(result.figures(flags, task_named("classification")).empty());
  result.checkpoints = {{1, 0.9, 0.7}, {2, 0.5, 0.8}, {4, 0.6, 0.759}};
  EXPECT_EQ(result.figures(flags, task_named("classification")), (Logs{{"val_loss", 0.6},
                                                                       {"val_accuracy", 0.759},
                                                                       {"best_val_accuracy", 0.8},
                                                                       {"best_epoch", 2}}));
  flags.sweep = true;
  const Logs all = result.figures(flags, task_named("classification"));
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[4], (std::pair<std::string, double>("epoch_to_target", 2)));
  EXPECT_EQ(all[5], (std::pair<std::string, double>("optimization_metric", 0.25)));
}

TEST_F(Validation, CleanDirRemovesWhatWasValidated) {
  TrainOptions given = options("run");
  given.phases.clean_dir = true;
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_FALSE(fs::exists(checkpoints("run")));
  EXPECT_SAYS(log("run"), "--clean-dir: 2 checkpoints removed");
  EXPECT_SAYS(log("run"), "validation epoch 2.0");
}

TEST_F(Validation, LeavesCheckpointsOfOtherRunsAlone) {
  EXPECT_EQ(run_training(options("first")), kDone);
  TrainOptions given = options("run");
  given.phases.clean_dir = true;
  given.phases.checkpoint_input_dir = checkpoints("first").string();
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_SAYS(log("run"), "warning: --clean-dir:", "--checkpoint-input-dir");
  EXPECT_EQ(validated("run").size(), 2u);
  EXPECT_EQ(checkpoints_in(checkpoints("first")).size(), 2u);
}

TEST_F(Validation, DuringTrainingHasItsOwnBatchToo) {
  TrainOptions given = options("run");
  given.phases.validation = ValidationTime::during;
  given.phases.validation_micro_batch_size = 7;
  EXPECT_EQ(run_training(given), kDone);
  TrainOptions later = options("later");
  later.phases.validation = ValidationTime::after;
  later.phases.validation_micro_batch_size = 7;
  EXPECT_EQ(run_training(later), kDone);
  expect_same_validations("run", "later");
}

// The order of the rows is the only difference.
TEST_F(Validation, DuringTrainingGivesTheRowsOfAfterTraining) {
  for (const char* per_epoch : {"1", "2", "1/2"}) {
    TrainOptions given = options(concat("during", per_epoch[0], per_epoch[1] == '/'));
    given.checkpoints.per_epoch = *parse_fraction(per_epoch);
    TrainOptions later = given;
    later.phases.validation = ValidationTime::after;
    later.run_dir += "-after";
    EXPECT_EQ(run_training(given), kDone);
    EXPECT_EQ(run_training(later), kDone);
    const std::string name = fs::path(given.run_dir).filename().string();
    expect_same_validations(name, name + "-after");
    for (const CheckpointFile& file : checkpoints_in(fs::path(given.run_dir) / "checkpoints")) {
      const std::string path = "/checkpoints/" + file.path.filename().string();
      EXPECT_EQ(folder_.read(name + path), folder_.read(name + "-after" + path)) << path;
    }
    // Each is reported when it is measured, and the result once.
    const std::string text = log(name);
    EXPECT_LT(text.find("validation epoch 2.0"), text.find("test loss"));
    EXPECT_EQ(text.find("validation epoch 2.0"), text.rfind("validation epoch 2.0"));
  }
}

TEST_F(Validation, DuringTrainingKeepsFiguresOfCheckpointsThatAreGone) {
  TrainOptions given = options("run");
  given.num_epochs = 3;
  given.checkpoints.keep_last = 1;
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_EQ(checkpoints_in(folder_.path / "run/checkpoints").size(), 1u);
  EXPECT_EQ(validated("run").size(), 3u);
}

TEST_F(Validation, AResumedRunMeasuresNoCheckpointTwice) {
  TrainOptions given = options("run");
  given.num_epochs = 1;
  EXPECT_EQ(run_training(given), kDone);
  given.num_epochs = 3;
  given.checkpoints.resume = "auto";
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_EQ(validated("run").size(), 3u);
  TrainOptions whole = options("whole");
  whole.num_epochs = 3;
  EXPECT_EQ(run_training(whole), kDone);
  expect_same_validations("run", "whole");
}

TEST_F(Validation, WritesTheClassReport) {
  TrainOptions given = options("run");
  given.quiet = false;
  EXPECT_EQ(run_training(given), kDone);
  for (const char* name :
       {"class_report.txt", "class_report.csv", "confusion.csv", "confusion.svg"}) {
    EXPECT_TRUE(fs::exists(folder_.path / "run" / name)) << name;
  }
  EXPECT_SAYS(out_.str(), folder_.read("run/class_report.txt"));
  EXPECT_SAYS(folder_.read("run/class_report.csv"), "Trouser");
  // The counts of the 50 samples on the diagonal are those that the accuracy counted.
  std::istringstream lines(folder_.read("run/confusion.csv"));
  std::string line;
  std::getline(lines, line);
  int all = 0;
  int right = 0;
  for (int row = 0; std::getline(lines, line); ++row) {
    const std::vector<std::string> cells = split(line, ',');
    ASSERT_EQ(cells.size(), 11u) << line;
    for (int column = 0; column < 10; ++column) {
      const int count = std::stoi(cells[static_cast<size_t>(column) + 1]);
      all += count;
      right += row == column ? count : 0;
    }
  }
  EXPECT_EQ(all, 50);
  EXPECT_NEAR(validated("run")[1]["val_accuracy"].get<double>(), right / 50.0, 1e-9);
}

TEST_F(Validation, TheWarmUpOfMlperfChangesNothing) {
  const std::string expected = result_of(options("plain"));
  TrainOptions given = options("warm");
  given.phases.mlperf_logging = true;
  given.phases.validation = ValidationTime::after;
  given.phases.target_accuracy = 0.01;
  out_.str("");
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_SAYS(out_.str(), expected);
  for (const char* name : {"/checkpoints/epoch_1.0.h5", "/checkpoints/epoch_2.0.h5"}) {
    EXPECT_EQ(folder_.read(std::string("warm") + name), folder_.read(std::string("plain") + name));
  }
  EXPECT_SAYS(log("warm"), "the warm-up took ");
  std::vector<std::string> keys;
  std::istringstream lines(log("warm"));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(":::MLLOG ", 0) != 0) continue;
    keys.push_back(nlohmann::json::parse(line.substr(9))["key"]);
    EXPECT_SAYS(out_.str(), line);
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"init_start",
                                            "submission_benchmark",
                                            "seed",
                                            "global_batch_size",
                                            "gradient_accumulation_steps",
                                            "train_samples",
                                            "eval_samples",
                                            "init_stop",
                                            "run_start",
                                            "epoch_start",
                                            "epoch_stop",
                                            "epoch_start",
                                            "epoch_stop",
                                            "eval_start",
                                            "eval_accuracy",
                                            "eval_stop",
                                            "eval_start",
                                            "eval_accuracy",
                                            "eval_stop",
                                            "run_stop"}));
  EXPECT_SAYS(log("warm"), "\"metadata\":{\"status\":\"success\"}");
}

TEST_F(Validation, ASignalStopsTheWarmUp) {
  TrainOptions given = options("run");
  given.phases.mlperf_logging = true;
  given.weight_updates_per_epoch = 1000000;
  std::thread sender([&] {
    while (log("run").find("a warm-up of ") == std::string::npos) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    kill(getpid(), SIGTERM);
  });
  EXPECT_EQ(run_training(given), kStopped);
  sender.join();
  EXPECT_SAYS(log("run"), "stopped by SIGTERM in the warm-up; there is nothing to save\n");
  EXPECT_EQ(log("run").find("run_start"), std::string::npos);
}

TEST_F(Validation, OfMirrorImagesToo) {
  TrainOptions given = options("plain");
  EXPECT_EQ(run_training(given), kDone);
  const double plain = validated("plain").back()["val_loss"].get<double>();
  given = options("flipped");
  given.phases.test_time_flip = true;
  EXPECT_EQ(run_training(given), kDone);
  const double flipped = validated("flipped").back()["val_loss"].get<double>();
  EXPECT_NE(plain, flipped);
  EXPECT_EQ(rows("plain")[0]["loss"], rows("flipped")[0]["loss"]);
  // The weights are the same, so each run can be validated as the other was.
  TrainOptions again = validation_of("plain", "again");
  again.phases.test_time_flip = true;
  EXPECT_EQ(run_training(again), kDone);
  EXPECT_EQ(validated("again").back()["val_loss"].get<double>(), flipped);
}

TEST_F(Validation, RefusesMirrorImagesOfWhatIsNoPicture) {
  TrainOptions given = options("run");
  given.model = "cosmoflow";
  given.data.dataset = "cosmoflow";
  given.data.dataset_path.clear();
  given.data.synthetic_data = SyntheticData::host;
  given.data.image_size = 32;
  given.phases.test_time_flip = true;
  EXPECT_SAYS(error_of([&] { run_training(given); }), "--test-time-flip", "one picture");
}

}  // namespace
}  // namespace pando::app
