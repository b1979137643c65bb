// The convolutions and dense layers of the zoo's models, with the batch of one worker.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pando/kernels/direct/direct_conv.h"

namespace pando::bench {

struct ConvLayer {
  std::string name;  // "mnist_cnn/conv1"
  kernels::ConvGeometry geometry;
  std::optional<kernels::PoolGeometry> pool;  // if the model pools its result

  double flops() const;  // of one pass: 2 per multiply-add
};

std::vector<ConvLayer> conv_layers();

}  // namespace pando::bench
