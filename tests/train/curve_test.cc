// Three epochs of plain SGD follow PyTorch's curve.
#include "tests/train/curve_support.h"

namespace pando {
namespace {

// Without the accuracy on the test set: an epoch ends with a step on 32 samples, after which it is
// off by up to 5 % from what it was a step before.
TEST(FashionMnistCurve, FollowsPyTorch) {
  expect_curve(read_curve("fashion_mnist_curve.json"), {{"loss", "accuracy", "val_loss"}, 1});
}

}  // namespace
}  // namespace pando
