// The first 150 steps of the curve; curve_test.cc has the whole of it.
#include "tests/train/curve_support.h"

namespace pando {
namespace {

TEST(FashionMnistCurve, StartsAsPyTorchDoes) {
  // An untrained model misses all but the first: 2.303, 0.1, 2.303, 0.1.
  expect_curve(read_curve("fashion_mnist_start.json"),
               {{"loss", "accuracy", "val_loss", "val_accuracy"}, 0.5});
}

}  // namespace
}  // namespace pando
