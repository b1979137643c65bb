// Networks of the zoo cut into stages, for tests of compiling a pipeline.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "pando/compiler/pass.h"
#include "tests/support/training_graphs.h"

namespace pando::compiler {

struct SplitNetwork {
  std::string label;  // of the test
  std::string network;
  Shape input_shape;
  std::vector<std::string> splits;

  TestNetwork build() const {
    TestNetwork test = test_network(network, input_shape);
    test.network = test.network.with_splits(splits);
    return test;
  }
};

inline std::ostream& operator<<(std::ostream& out, const SplitNetwork& split) {
  return out << split.label;
}

// Cuts inside residual blocks, between an activation and its pooling, and around batch norm.
inline std::vector<SplitNetwork> split_networks() {
  const Shape image = {32, 32, 3};
  return {{"resnet_2", "cifar_resnet8", image, {"conv3_block1_layer2_conv"}},
          {"resnet_3", "cifar_resnet8", image, {"conv2_block1_layer2_bn", "conv3_block1_add"}},
          {"resnet_4",
           "cifar_resnet8",
           image,
           {"conv2_block1_layer1_bn", "conv3_block1_shortcut", "conv4_block1_layer2_conv"}},
          {"mnist_2", "mnist_cnn", {28, 28, 1}, {"max_pooling2d"}},
          {"mnist_3", "mnist_cnn", {28, 28, 1}, {"max_pooling2d_1", "dense"}},
          {"toy_bn_2", "toy_model_bn", image, {"bn_0"}},
          {"toy_bn_3", "toy_model_bn", image, {"max_pooling2d", "flatten"}}};
}

inline std::string label_of(Recomputation mode) {
  switch (mode) {
    case Recomputation::none: return "no recomputation";
    case Recomputation::then_backward: return "then backward";
    case Recomputation::interleaved: return "interleaved";
  }
  return "?";
}

inline constexpr Recomputation kModes[] = {Recomputation::none, Recomputation::then_backward,
                                           Recomputation::interleaved};

}  // namespace pando::compiler
