// Tests runs whose output places are taken, cannot be written, or fail at the end.
// SPDX-License-Identifier: MIT
#include "pando/app/run/output_places.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "pando/app/flags/validate_options.h"
#include "pando/app/job/exit_code.h"
#include "tests/app/training_run_fixture.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;

class OutputPlacesTest : public TrainingRunTest {
 protected:
  std::string file(const std::string& name) const { return (folder_.path / name).string(); }

  TrainOptions into_shared(const std::string& run) const {
    TrainOptions given = options(run);
    given.checkpoints.output_dir = file("shared");
    return given;
  }

  // Writes a run directory with a config.yml that names the shared folder.
  void train_into_shared(const std::string& run) {
    TrainOptions given = into_shared(run);
    given.config_text += "checkpoint-output-dir: " + file("shared") + "\n";
    EXPECT_EQ(run_training(given), kDone);
  }

  size_t validations(const std::string& run) const {
    size_t count = 0;
    for (const auto& row : nlohmann::json::parse(folder_.read(run + "/history.json"))) {
      count += row.contains("val_accuracy") ? 1 : 0;
    }
    return count;
  }
};

TEST_F(OutputPlacesTest, AnotherRunIsRefusedAndChangesNothing) {
  EXPECT_EQ(run_training(into_shared("first")), kDone);
  const std::string before = folder_.read("shared/epoch_2.0.h5");
  TrainOptions second = into_shared("second");
  second.seed = 7;
  second.checkpoints.keep_last = 1;
  EXPECT_SAYS(error_of<InvalidArgument>([&] { run_training(second); }), "epoch_2.0.h5",
              file("first"));
  EXPECT_FALSE(fs::exists(file("second")));
  EXPECT_EQ(folder_.read("shared/epoch_2.0.h5"), before);
  EXPECT_TRUE(fs::exists(file("shared/epoch_1.0.h5")));
}

TEST_F(OutputPlacesTest, TheFolderOfARunInProgressIsRefused) {
  const CheckpointStore other({.folder = file("shared")});
  EXPECT_SAYS(error_of<ResourceError>([&] { run_training(into_shared("run")); }), file("shared"));
  EXPECT_FALSE(fs::exists(file("run")));
  // A run directory whose checkpoints another run writes is not moved aside.
  EXPECT_EQ(run_training(options("own")), kDone);
  fs::remove_all(file("own/checkpoints"));
  const CheckpointStore guest({.folder = file("own/checkpoints")});
  EXPECT_SAYS(error_of<ResourceError>([&] { run_training(options("own")); }), file("own"));
}

TEST_F(OutputPlacesTest, AResumedRunKeepsItsFolder) {
  train_into_shared("first");
  const std::string id = mark_in(file("shared")).id;
  EXPECT_EQ(mark_in(file("first")).id, id);
  TrainOptions more = into_shared("second");
  more.num_epochs = 3;
  more.checkpoints.resume = "auto";
  EXPECT_EQ(run_training(more), kDone);
  EXPECT_EQ(mark_in(file("second")).id, id);
  std::ostringstream out;
  const std::vector<std::string> args = {file("first"), "--dataset-path", folder_.path.string()};
  EXPECT_EQ(parse_validate_options(args, out)->phases.checkpoint_input_dir, file("shared"));
}

TEST_F(OutputPlacesTest, ValidationDoesNotTakeTheWeightsOfAnotherRun) {
  train_into_shared("first");
  fs::remove_all(file("shared"));
  train_into_shared("second");
  const auto validate = [&](const std::string& what) {
    std::ostringstream out;
    const std::vector<std::string> args = {file(what), "--dataset-path", folder_.path.string()};
    return parse_validate_options(args, out)->phases.checkpoint_input_dir;
  };
  EXPECT_SAYS(error_of<UsageError>([&] { validate("first"); }), file("first"), file("second"),
              "pando validate " + file("shared"));
  EXPECT_EQ(validate("second"), file("shared"));
}

TEST_F(OutputPlacesTest, ACleanedFolderCanBeUsedAgain) {
  for (const char* run : {"first", "second"}) {
    TrainOptions given = into_shared(run);
    given.phases.clean_dir = true;
    EXPECT_EQ(run_training(given), kDone);
    EXPECT_FALSE(fs::exists(file("shared")));
  }
}

TEST_F(OutputPlacesTest, TheRunDirectoryMayHaveTheCheckpoints) {
  TrainOptions given = options("run");
  given.checkpoints.output_dir = given.run_dir;
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_SAYS(error_of<InvalidArgument>([&] { run_training(given); }), file("run"));
  given.checkpoints.resume = "auto";
  given.num_epochs = 3;
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_TRUE(fs::exists(file("run/epoch_3.0.h5")));
}

TEST_F(OutputPlacesTest, APlaceThatCannotBeWrittenIsFoundBeforeTheFirstStep) {
  const auto refused = [&](const auto& change) {
    TrainOptions given = options("run");
    change(given);
    const std::string message = error_of<UsageError>([&] { run_training(given); });
    EXPECT_FALSE(fs::exists(file("run")));
    return message;
  };
  EXPECT_SAYS(refused([](TrainOptions& given) { given.trace = "/proc/trace.json"; }), "--trace",
              "/proc/trace.json");
  EXPECT_SAYS(refused([](TrainOptions& given) { given.profile = "/proc/profile"; }), "--profile",
              "/proc/profile");
  EXPECT_SAYS(refused([](TrainOptions& given) { given.checkpoints.output_dir = "/proc/c"; }),
              "/proc/c", "--checkpoint-output-dir");
  EXPECT_SAYS(refused([](TrainOptions& given) { given.run_dir = "/proc/r"; }), "/proc/r",
              "--run-dir");
}

TEST_F(OutputPlacesTest, ARunDirectoryThatCannotBeFollowedIsAUsageError) {
  fs::create_symlink("loop", file("loop"));
  for (const std::string& path : {file("loop"), file("loop/run"), file(std::string(300, 'x'))}) {
    for (const char* resume : {"", "auto"}) {
      TrainOptions given = options("run");
      given.run_dir = path;
      given.checkpoints.resume = resume;
      EXPECT_SAYS(error_of<UsageError>([&] { run_training(given); }), path, "--run-dir");
    }
    EXPECT_THROW(validate(CheckpointFlags{.resume = path}, ""), UsageError);
    EXPECT_THROW(validate(CheckpointFlags{.weights = path}, ""), UsageError);
  }
}

// The last output of a run fails; the device can be opened, but not written.
TEST_F(OutputPlacesTest, ATraceThatCannotBeWrittenCostsNoValidation) {
  TrainOptions given = options("run");
  given.trace = "/dev/full";
  given.phases.validation = ValidationTime::after;
  EXPECT_SAYS(error_of<IoError>([&] { run_training(given); }), "complete", "/dev/full",
              "No space left");
  EXPECT_EQ(validations("run"), 2u);
  EXPECT_SAYS(out_.str(), "test accuracy: ");
  for (const char* name :
       {"run/class_report.txt", "run/curves.svg", "run/checkpoints/epoch_2.0.h5"}) {
    EXPECT_TRUE(fs::exists(file(name))) << name;
  }
}

TEST(RunDirectoryFailures, AreKeptWhenNothingMoreShallFail) {
  const TestFolder folder;
  RunDirectory run({.path = folder.path / "run", .config = "x"});
  const FileLimit limit(200);
  const std::string line(300, 'x');
  EXPECT_SAYS(error_of<IoError>([&] { run.log(line); }), "log.txt");
  EXPECT_THROW(run.attempt([] { throw IoError("first"); }), IoError);
  EXPECT_TRUE(run.failures().empty());
  run.defer_failures();
  for (int i = 0; i < 2; ++i) run.log(line);
  EXPECT_FALSE(run.attempt([] { throw IoError("second"); }));
  EXPECT_TRUE(run.attempt([] {}));
  ASSERT_EQ(run.failures().size(), 2u);
  EXPECT_SAYS(run.failures()[0], "log.txt", "File too large");
  EXPECT_EQ(run.failures()[1], "second");
}

}  // namespace
}  // namespace pando::app
