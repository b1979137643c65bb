#include "pando/profile/memory_rate.h"

#include "pando/base/error.h"
#include "tests/support/expect_error.h"

namespace pando::profile {
namespace {

TEST(MemoryRate, MeasuresOneAndSeveralThreads) {
  for (const int threads : {1, 3}) EXPECT_GT(memory_rate(threads, 0), 0) << threads;
}

TEST(MemoryRate, RequiresAThread) { EXPECT_THROW(memory_rate(0, 0), InternalError); }

}  // namespace
}  // namespace pando::profile
