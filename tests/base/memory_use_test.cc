#include "pando/base/memory_use.h"

#include <vector>

#include <gtest/gtest.h>

namespace pando {
namespace {

TEST(MemoryUse, GrowsWithWhatTheProcessTouches) {
  const MemoryUse before = memory_use();
  EXPECT_GT(before.resident, 0);
  EXPECT_GT(before.machine, before.resident);
  const std::vector<char> block(size_t{64} << 20, 'x');
  ASSERT_EQ(block.back(), 'x');
  const MemoryUse after = memory_use();
  EXPECT_GT(after.resident, before.resident + (48 << 20));
  EXPECT_GE(after.addresses, after.resident);
  EXPECT_GT(after.data, before.data + (48 << 20));
  EXPECT_GE(after.peak, before.resident + (48 << 20));
}

}  // namespace
}  // namespace pando
