#include "pando/app/job/agreed_signal.h"

#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

#include "pando/base/error.h"

namespace pando::app {
namespace {

TEST(AgreedSignal, NamesAnInstanceThatAloneGotOne) {
  EXPECT_EQ(stop_cause(std::vector{SIGUSR1}), "SIGUSR1");
  EXPECT_EQ(stop_cause(std::vector{0, 0, SIGTERM}), "SIGTERM to instance 2");
  EXPECT_EQ(stop_cause(std::vector{SIGUSR1, 0}), "SIGUSR1 to instance 0");
  EXPECT_EQ(stop_cause(std::vector{SIGUSR1, SIGUSR1}), "SIGUSR1");
  EXPECT_EQ(stop_cause(std::vector{0, SIGINT, SIGUSR1}), "SIGINT");
  EXPECT_THROW(stop_cause(std::vector{0, 0}), InternalError);
}

}  // namespace
}  // namespace pando::app
