// The first 150 steps of the curve; curve_test.cc has the whole of it.
#include "tests/train/curve_support.h"

namespace pando {
namespace {

TEST(FashionMnistCurve, StartsAsPyTorchDoes) {
  expect_curve(read_curve("fashion_mnist_start.json"), 0.5);
}

}  // namespace
}  // namespace pando
