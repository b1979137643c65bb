#include "pando/app/run/job_run.h"

#include <atomic>
#include <sstream>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "tests/support/expect_error.h"
#include "tests/support/thread_instances.h"

namespace pando::app {
namespace {

using testing_support::error_of;
using testing_support::on_instances;

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

TEST(JobRun, AloneErrorsAreWhatTheyAre) {
  std::ostringstream out;
  const auto wrong = [](std::ostream&) -> std::optional<TrainOptions> {
    throw UsageError("--x: unknown");
  };
  EXPECT_EQ(error_of<UsageError>([&] { run_in_job(wrong, out); }), "--x: unknown");
}

}  // namespace
}  // namespace pando::app
