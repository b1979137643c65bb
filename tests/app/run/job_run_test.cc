#include "pando/app/run/job_run.h"

#include <array>
#include <atomic>
#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/run/training_setup.h"
#include "tests/app/training_run_fixture.h"
#include "tests/support/expect_error.h"
#include "tests/support/thread_instances.h"

namespace pando::app {
namespace {

using testing_support::error_of;
using testing_support::on_instances;
namespace fs = std::filesystem;

class JobRunOnData : public TrainingRunTest {
 protected:
  // What all instances say that read these folders below the folder of the test.
  std::string failure_with(const std::array<std::string, 2>& folders) {
    std::array<std::string, 2> failures;
    on_instances(2, [&](comm::Communicator& own) {
      const auto at = static_cast<size_t>(own.rank());
      TrainOptions given = options("run");
      given.data.dataset_path = (folder_.path / folders[at]).string();
      given.devices.num_replicas = 2;
      std::ostringstream out;
      TrainingSetup setup(given, out);
      try {
        setup.agree();
      } catch (const AgreedFailure& error) {
        EXPECT_EQ(error.code(), kUsage);
        failures[at] = error.what();
      }
    });
    EXPECT_EQ(failures[0], failures[1]);
    return failures[0];
  }
};

TEST(JobRun, AQuestionIsAnsweredOnce) {
  std::ostringstream outs[2];
  on_instances(2, [&](comm::Communicator& own) {
    const auto answer = [](std::ostream& out) -> std::optional<TrainOptions> {
      out << "answer";
      return std::nullopt;
    };
    EXPECT_EQ(run_in_job(answer, outs[own.rank()]), kDone);
  });
  EXPECT_EQ(outs[0].str(), "answer");
  EXPECT_EQ(outs[1].str(), "");
}

TEST(JobRun, OptionsMustBeTheSameEverywhere) {
  std::atomic<int> told{0};
  on_instances(3, [&](comm::Communicator& own) {
    const auto parse = [&](std::ostream&) {
      TrainOptions options;
      options.config_text = concat("model: m\nseed: ", own.rank() == 2 ? 1 : 0, "\n");
      return std::optional(options);
    };
    std::ostringstream out;
    try {
      run_in_job(parse, out);
      ADD_FAILURE() << "instance " << own.rank() << " found nothing wrong";
    } catch (const AgreedFailure& error) {
      EXPECT_EQ(error.code(), kUsage);
      EXPECT_SAYS(std::string(error.what()), "--seed", "'0' on instance 0", "'1' on instance 2");
      told += error.is_told_here() ? 1 : 0;
    }
  });
  EXPECT_EQ(told, 1);
}

// Each instance has a folder of its own, as on several machines.
TEST_F(JobRunOnData, DataMustBeTheSameEverywhere) {
  const std::string name = "train-images-idx3-ubyte";
  fs::create_directory(folder_.path / "other");
  for (const char* part : {"train", "t10k"}) {
    for (const char* kind : {"-images-idx3-ubyte", "-labels-idx1-ubyte"}) {
      fs::copy(folder_.path / (part + std::string(kind)), folder_.path / "other");
    }
  }
  EXPECT_EQ(failure_with({"", "other"}), "");
  std::string images = folder_.read("other/" + name);
  images.back() ^= 1;
  folder_.write("other/" + name, images);
  EXPECT_SAYS(failure_with({"", "other"}), "training data", "on instance 0 and", "on instance 1");
}

TEST(JobRun, AloneErrorsAreWhatTheyAre) {
  std::ostringstream out;
  const auto wrong = [](std::ostream&) -> std::optional<TrainOptions> {
    throw UsageError("--x: unknown");
  };
  EXPECT_EQ(error_of<UsageError>([&] { run_in_job(wrong, out); }), "--x: unknown");
}

}  // namespace
}  // namespace pando::app
