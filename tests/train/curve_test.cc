// Three epochs of plain SGD follow PyTorch's curve.
#include "tests/train/curve_support.h"

namespace pando {
namespace {

TEST(FashionMnistCurve, FollowsPyTorch) { expect_curve(read_curve("fashion_mnist_curve.json"), 1); }

}  // namespace
}  // namespace pando
