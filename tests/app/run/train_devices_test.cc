// Tests runs of `pando train` on several devices, with log events and traces.
#include <chrono>
#include <csignal>
#include <thread>

#include <nlohmann/json.hpp>

#include "pando/app/job/exit_code.h"
#include "pando/app/record/checkpoint_list.h"
#include "pando/train/model.h"
#include "pando/zoo/zoo.h"
#include "tests/app/training_run_fixture.h"

namespace pando::app {
namespace {

class TrainDevices : public TrainingRunTest {
 protected:
  // Twelve weight updates of 16 samples in one epoch, each sample in one slice.
  TrainOptions small(const std::string& run) const {
    TrainOptions given = options(run);
    given.slices = 1;
    given.num_epochs = 1;
    given.micro_batch_size = 4;
    given.devices.gradient_accumulation_count = 4;
    return given;
  }

  nlohmann::json rows(const std::string& run) const {
    return nlohmann::json::parse(folder_.read(run + "/history.json"));
  }

  bool said(const std::string& text) const { return out_.str().find(text) != std::string::npos; }

  // The last line of a quiet run.
  std::string result_of(const TrainOptions& given) {
    out_.str("");
    EXPECT_EQ(run_training(given), kDone);
    return out_.str();
  }
};

TEST_F(TrainDevices, AGlobalBatchGivesTheSameResultHoweverItIsDivided) {
  TrainOptions one = small("one");
  one.micro_batch_size = 16;
  one.devices.gradient_accumulation_count.reset();
  const std::string expected = result_of(one);
  ASSERT_EQ(expected.rfind("test loss: ", 0), 0u) << expected;
  EXPECT_EQ(result_of(small("accumulated")), expected);
  TrainOptions replicated = small("replicated");
  replicated.devices.num_replicas = 2;
  replicated.devices.gradient_accumulation_count = 2;
  EXPECT_EQ(result_of(replicated), expected);
  for (const PipelineSchedule schedule :
       {PipelineSchedule::grouped, PipelineSchedule::interleaved, PipelineSchedule::sequential}) {
    TrainOptions pipelined = small("pipelined");
    pipelined.devices.pipeline_splits = {"conv2d_1"};
    pipelined.devices.pipeline_schedule = schedule;
    EXPECT_EQ(result_of(pipelined), expected) << to_string(schedule);
  }
}

TEST_F(TrainDevices, PipelinesGiveTheSameWeightsToTheBit) {
  TrainOptions first = small("first");
  first.devices.pipeline_splits = {"conv2d_1"};
  result_of(first);
  const std::string weights = folder_.read("first/checkpoints/epoch_1.0.h5");
  ASSERT_FALSE(weights.empty());
  TrainOptions other = small("other");
  other.devices.pipeline_splits = {"conv2d_1"};
  other.devices.pipeline_schedule = PipelineSchedule::sequential;
  other.devices.recomputation = RecomputationFlag::automatic;
  other.devices.device_mapping = {0, 0};
  other.devices.pipeline_validation_model = true;
  other.steps_per_execution = 4;
  other.prefetch_depth = 1;
  result_of(other);
  EXPECT_TRUE(folder_.read("other/checkpoints/epoch_1.0.h5") == weights);
}

TEST_F(TrainDevices, TheReductionReachesTheUpdate) {
  TrainOptions summed = small("sum");
  const std::string mean = result_of(small("mean"));
  summed.devices.gradient_reduction = GradientReduction::sum;
  EXPECT_NE(result_of(summed), mean);
}

TEST_F(TrainDevices, TheStartTellsTheDivision) {
  TrainOptions given = small("run");
  given.quiet = false;
  given.devices.num_replicas = 2;
  given.devices.gradient_accumulation_count = 3;
  given.devices.pipeline_splits = {"conv2d_1"};
  EXPECT_EQ(run_training(given), kDone);
  const std::string line =
      "global batch 24 = micro-batch 4 x 2 replicas x accumulation 3, 2 stages, 8 weight updates "
      "per epoch; 8 samples left over for the next epoch\n";
  EXPECT_TRUE(said(line)) << out_.str();
  EXPECT_NE(folder_.read("run/log.txt").find(line), std::string::npos);
}

TEST_F(TrainDevices, WarningsAreToldOnceAndLogged) {
  TrainOptions given = small("run");
  given.quiet = false;
  given.devices.gradient_accumulation_count.reset();
  given.devices.global_batch_size = 18;
  given.logs_per_epoch = Fraction(5);
  given.devices.pipeline_validation_model = true;
  EXPECT_EQ(run_training(given), kDone);
  const std::string log = folder_.read("run/log.txt");
  for (const char* start :
       {"warning: --global-batch-size 18 is not a multiple of 4", "warning: --logs-per-epoch 5: ",
        "warning: --pipeline-validation-model has no effect without --pipeline-splits\n"}) {
    const size_t first = out_.str().find(start);
    ASSERT_NE(first, std::string::npos) << start;
    EXPECT_EQ(out_.str().find(start, first + 1), std::string::npos);
    EXPECT_NE(log.find(start), std::string::npos) << start;
  }
}

TEST_F(TrainDevices, LogEventsHaveTheMeansSinceTheOneBefore) {
  TrainOptions once = small("once");
  EXPECT_EQ(run_training(once), kDone);
  TrainOptions given = small("run");
  given.logs_per_epoch = Fraction(3);
  EXPECT_EQ(run_training(given), kDone);
  auto thirds = rows("run");     // not const: a missing key reads as null
  ASSERT_EQ(thirds.size(), 4u);  // the last row is that of the validation
  double loss = 0;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(thirds[i]["epoch"], static_cast<double>(i + 1) / 3);
    EXPECT_EQ(thirds[i]["step"], 16 * (i + 1));
    EXPECT_EQ(thirds[i]["learning_rate"], 0.05);
    EXPECT_GT(thirds[i]["throughput"], 0);
    EXPECT_TRUE(thirds[i]["val_loss"].is_null());
    loss += thirds[i]["loss"].get<double>() / 3;
  }
  EXPECT_NEAR(loss, rows("once")[0]["loss"].get<double>(), 1e-9);
  EXPECT_NE(folder_.read("run/log.txt").find("epoch 0.333333: loss: "), std::string::npos);
}

TEST_F(TrainDevices, RareLogEventsAverageOverEpochs) {
  TrainOptions every = small("every");
  every.num_epochs = 2;
  every.phases.validation = ValidationTime::off;
  EXPECT_EQ(run_training(every), kDone);
  TrainOptions given = every;
  given.run_dir = (folder_.path / "run").string();
  given.logs_per_epoch = Fraction(1, 2);
  EXPECT_EQ(run_training(given), kDone);
  ASSERT_EQ(rows("run").size(), 1u);
  EXPECT_EQ(rows("run")[0]["epoch"], 2.0);
  const double mean =
      (rows("every")[0]["loss"].get<double>() + rows("every")[1]["loss"].get<double>()) / 2;
  EXPECT_NEAR(rows("run")[0]["loss"].get<double>(), mean, 1e-9);
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "run/checkpoints/epoch_1.0.h5"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path / "run/checkpoints/epoch_2.0.h5"));
}

TEST_F(TrainDevices, AValidationWithoutALogEventHasItsOwnRow) {
  TrainOptions given = small("run");
  given.num_epochs = 2;
  given.logs_per_epoch = Fraction(0);
  given.checkpoints.per_epoch = Fraction(1);
  EXPECT_EQ(run_training(given), kDone);
  ASSERT_EQ(rows("run").size(), 3u);  // of a validation, of the whole training, of a validation
  EXPECT_TRUE(rows("run")[1]["loss"].is_number());
  for (const size_t i : {0, 2}) {
    EXPECT_FALSE(rows("run")[i].contains("loss") && rows("run")[i]["loss"].is_number());
    EXPECT_TRUE(rows("run")[i]["val_loss"].is_number());
  }
}

TEST_F(TrainDevices, LogEventsEndExecutions) {
  TrainOptions given = small("run");
  given.logs_per_epoch = Fraction(4);  // after updates 3, 6, 9, 12
  given.steps_per_execution = 20;      // after updates 5, 10, 12
  given.phases.validation = ValidationTime::off;
  EXPECT_EQ(run_training(given), kDone);
  std::vector<int64_t> steps;
  for (const auto& row : rows("run")) steps.push_back(row["step"]);
  EXPECT_EQ(steps, (std::vector<int64_t>{12, 24, 36, 48}));
}

TEST_F(TrainDevices, AnEpochMayHaveOtherUpdates) {
  TrainOptions given = small("run");
  given.weight_updates_per_epoch = 20;  // more than one pass
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_EQ(rows("run")[0]["step"], 80);
  EXPECT_EQ(rows("run")[0]["epoch"], 1.0);
  given.devices.gradient_accumulation_count = 51;
  EXPECT_NE(message_of<UsageError>([&] {
              run_training(given);
            }).find("200 samples, fewer than one global batch of 204"),
            std::string::npos);
}

TEST_F(TrainDevices, MeasuredSplitsAreToldAndRecorded) {
  TrainOptions given = small("run");
  given.quiet = false;
  given.devices.pipeline_splits = {"auto"};
  given.config_text = "pipeline-splits: [auto]  # command line\npipeline-stages: 2  # default\n";
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_TRUE(said("--pipeline-splits auto: ")) << out_.str();
  EXPECT_TRUE(said("expected idle share"));
  const std::string config = folder_.read("run/config.yml");
  EXPECT_EQ(config.find("auto"), std::string::npos) << config;
  EXPECT_NE(config.find("# chosen from the measured times of the layers"), std::string::npos);
  EXPECT_NE(config.find("pipeline-stages: 0 "), std::string::npos);
  EXPECT_NE(folder_.read("run/log.txt").find("--pipeline-splits auto: "), std::string::npos);

  given.devices.pipeline_stages = 50;
  EXPECT_EQ(message_of<UsageError>([&] {
              run_training(given);
            }).rfind("--pipeline-splits: cannot split the model into 50 pipeline stages", 0),
            0u);
}

TEST_F(TrainDevices, UnknownSplitsLeaveNothingBehind) {
  TrainOptions given = small("run");
  given.devices.pipeline_splits = {"conv2d_7"};
  EXPECT_NE(message_of<UsageError>([&] {
              run_training(given);
            }).find("--pipeline-splits: unknown layer 'conv2d_7'"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "run"));
}

TEST_F(TrainDevices, AMemoryBudgetRefusesWithATable) {
  TrainOptions given = small("run");
  given.devices.memory_per_device.bytes = 1000;
  const std::string message = message_of<ResourceError>([&] { run_training(given); });
  EXPECT_NE(message.find("the budget is 1000 B"), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "run"));
}

TEST_F(TrainDevices, TracesAreWrittenAndSummedUp) {
  TrainOptions given = small("run");
  given.quiet = false;
  given.devices.pipeline_splits = {"conv2d_1"};
  given.trace = (folder_.path / "trace.json").string();
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_TRUE(said("events written to " + given.trace)) << out_.str();
  EXPECT_TRUE(said("device 1 "));
  const auto trace = nlohmann::json::parse(folder_.read("trace.json"));
  bool stage_1 = false;
  for (const auto& event : trace["traceEvents"]) stage_1 = stage_1 || event["name"] == "backward 1";
  EXPECT_TRUE(stage_1);
}

TEST_F(TrainDevices, ProfilesAreWritten) {
  TrainOptions given = small("run");
  given.quiet = false;
  given.devices.pipeline_splits = {"conv2d_1"};
  given.profile = (folder_.path / "reports").string();
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_TRUE(said("reports written to " + given.profile + "/train_report.txt")) << out_.str();
  EXPECT_FALSE(said("events written to"));
  const auto report = nlohmann::json::parse(folder_.read("reports/train_report.json"));
  EXPECT_EQ(report["execution"]["devices"].size(), 2u);
  EXPECT_GT(report["execution"]["steps"].get<int64_t>(), 0);
  EXPECT_TRUE(nlohmann::json::parse(folder_.read("reports/train_trace.json")).is_object());
}

TEST_F(TrainDevices, DryRunsShowMemoryTimelineAndIdleTime) {
  TrainOptions given = small("run");
  given.dry_run = true;
  given.devices.pipeline_splits = {"conv2d_1"};
  EXPECT_EQ(run_training(given), kDone);
  for (const char* text :
       {"micro-batches held", "dev1 .  F0", "expected idle share", "measured times of the stages",
        "measured idle share", "one weight update of 16 samples takes"}) {
    EXPECT_TRUE(said(text)) << text << " in\n" << out_.str();
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "run"));
}

TEST_F(TrainDevices, CompileReportsShowTheTimeline) {
  TrainOptions given = small("run");
  given.compile_report = true;
  given.devices.pipeline_splits = {"conv2d_1"};
  given.phases.validation = ValidationTime::off;
  EXPECT_EQ(run_training(given), kDone);
  for (const char* text :
       {"micro-batches held", "dev1 .  F0", "if all stages take the same time"}) {
    EXPECT_TRUE(said(text)) << text << " in\n" << out_.str();
  }
}

TEST_F(TrainDevices, ASignalEndsAnExecutionAfterAWeightUpdate) {
  TrainOptions endless = small("run");
  endless.weight_updates_per_epoch = 50000;
  endless.steps_per_execution = 200000;  // the whole epoch
  endless.phases.validation = ValidationTime::off;
  std::thread sender([] {
    struct sigaction action = {};
    while (sigaction(SIGTERM, nullptr, &action), action.sa_handler == SIG_DFL) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    kill(getpid(), SIGTERM);
  });
  EXPECT_EQ(run_training(endless), kStopped);
  sender.join();
  EXPECT_TRUE(rows("run").empty());  // the checkpoint has the sums, for the resumed run
  int files = 0;
  for (const CheckpointFile& file : checkpoints_in(folder_.path / "run/checkpoints")) {
    const TrainingState state = load_training_state(file.path.string());
    EXPECT_GT(state.position.update, 0);
    EXPECT_LT(state.position.update, 50000);
    Model model(mnist_cnn({28, 28, 1}, 10));
    EXPECT_TRUE(model.load_weights(file.path.string()).skipped.empty());
    ++files;
  }
  EXPECT_EQ(files, 1);
}

}  // namespace
}  // namespace pando::app
