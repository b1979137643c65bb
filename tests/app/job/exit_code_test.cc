#include "pando/app/job/exit_code.h"

#include <gtest/gtest.h>

#include "pando/fetch/download.h"
#include "pando/train/non_finite_loss.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

TEST(ExitCode, FollowsTheKindOfTheError) {
  EXPECT_EQ(exit_code_of(UsageError("--x: wrong")), kUsage);
  EXPECT_EQ(exit_code_of(InvalidArgument("unknown model")), kUsage);
  EXPECT_EQ(exit_code_of(IoError("disk full")), kFailed);
  EXPECT_EQ(exit_code_of(fetch::FetchStopped("x.gz: stopped")), kStopped);
  EXPECT_EQ(exit_code_of(std::runtime_error("else")), kFailed);
  EXPECT_EQ(exit_code_of(NonFiniteLoss("loss is nan at step 7")), kNonFiniteLoss);
}

TEST(Describe, AddsKindAndCausesWhenVerbose) {
  try {
    try {
      throw IoError("disk full");
    } catch (...) {
      std::throw_with_nested(InvalidArgument("no checkpoint"));
    }
  } catch (const std::exception& error) {
    EXPECT_EQ(describe(error, false), "no checkpoint");
    EXPECT_SAYS(describe(error, true), "no checkpoint", "invalid argument", "cause: disk full",
                "input/output");
  }
  try {
    try {
      throw 5;
    } catch (...) {
      std::throw_with_nested(std::runtime_error("strange"));
    }
  } catch (const std::exception& error) {
    EXPECT_SAYS(describe(error, true), "strange", "cause: unknown");
  }
  EXPECT_EQ(describe(std::bad_alloc(), false).rfind("out of memory: ", 0), 0u);
}

}  // namespace
}  // namespace pando::app
