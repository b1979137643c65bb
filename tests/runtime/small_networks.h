// Networks of the zoo on inputs that are small enough for many runs.
// SPDX-License-Identifier: MIT
#pragma once

#include "tests/support/training_graphs.h"

namespace pando::runtime {

inline TestNetwork mnist() { return test_network("mnist_cnn", {12, 12, 1}); }
inline TestNetwork toy_bn() { return test_network("toy_model_bn", {32, 32, 3}); }
inline TestNetwork resnet() { return test_network("cifar_resnet8", {8, 8, 3}); }

}  // namespace pando::runtime
