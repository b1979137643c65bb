// flush_denormals() treats denormal numbers as zero in the calling thread only.
// SPDX-License-Identifier: MIT
#include "pando/kernels/denormals.h"

#include <thread>

#include <gtest/gtest.h>

namespace pando::kernels {
namespace {

float half_of(float value) {
  volatile float kept = value;  // volatile, so that the compiler does not compute the product
  return kept * 0.5f;
}

TEST(Denormals, AreFlushedInTheCallingThreadOnly) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "only on x86-64";
#endif
  constexpr float kSmallest = 1.17549435e-38f;
  float flushed = 1;
  std::thread([&] {
    flush_denormals();
    flushed = half_of(kSmallest);
  }).join();
  EXPECT_EQ(flushed, 0.0f);
  EXPECT_NE(half_of(kSmallest), 0.0f);
}

}  // namespace
}  // namespace pando::kernels
