#include "pando/runtime/tuning/kernel_error.h"

#include <gtest/gtest.h>

#include "tests/runtime/tuning/layer_cases.h"

namespace pando::runtime {
namespace {

using test::BoundCase;

TEST(KernelError, LargerTilesRoundMore) {
  for (size_t i = 0; i < 3; ++i) {
    const BoundCase one(cases()[i]);
    const std::vector<double> errors =
        kernel_errors(one.node(), {"direct", "winograd", "winograd4", "reference", "nobody"});
    ASSERT_EQ(errors.size(), 5u);
    for (size_t e = 0; e < 3; ++e) {
      EXPECT_GT(errors[e], 1e-8) << one.node().label() << " " << e;
      EXPECT_LT(errors[e], 1e-5) << one.node().label() << " " << e;
    }
    EXPECT_GT(errors[2], errors[1]);
    EXPECT_EQ(errors[3], 0);
    EXPECT_LT(errors[4], 0);
  }
}

TEST(KernelError, IsUnknownForOtherLayers) {
  const BoundCase dense(cases()[3]);
  EXPECT_EQ(kernel_errors(dense.node(), {"direct"}), std::vector<double>{-1});
  const BoundCase conv(cases()[0]);
  EXPECT_EQ(kernel_errors(conv.node(), {"direct"}), std::vector<double>{-1});
  const BoundCase half = conv.lowered(DType::f16);
  EXPECT_EQ(kernel_errors(half.node(), {"winograd"}), std::vector<double>{-1});
}

}  // namespace
}  // namespace pando::runtime
