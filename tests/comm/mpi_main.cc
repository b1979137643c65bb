// Tests whose instances are the processes that mpirun started. All run the same tests in the same
// order; a process that fails ends the others, which would wait for it.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "pando/comm/session.h"

namespace {

class EndOthers : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo& info) override {
    if (info.result()->Failed()) {
      pando::comm::process_session().end(1, pando::comm::Ending::alone);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::UnitTest::GetInstance()->listeners().Append(new EndOthers);
  pando::comm::process_session().join();
  return RUN_ALL_TESTS();
}
