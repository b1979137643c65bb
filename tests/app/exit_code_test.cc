#include "pando/app/exit_code.h"

#include <gtest/gtest.h>

namespace pando::app {
namespace {

TEST(ExitCode, FollowsTheKindOfTheError) {
  EXPECT_EQ(exit_code_of(UsageError("--x: wrong")), kUsage);
  EXPECT_EQ(exit_code_of(InvalidArgument("unknown model")), kUsage);
  EXPECT_EQ(exit_code_of(IoError("disk full")), kFailed);
  EXPECT_EQ(exit_code_of(std::runtime_error("else")), kFailed);
  EXPECT_EQ(exit_code_of(NonFiniteLoss("loss is nan at step ", 7)), kNonFiniteLoss);
}

}  // namespace
}  // namespace pando::app
