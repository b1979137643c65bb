// The head of a network: the layer that tells classes apart. It can be replaced to predict other
// classes, several classes at once, or numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/zoo/zoo.h"

namespace pando::zoo {

// The end of a network with one output: a dense layer or a convolution of 1x1, and the layers
// without weights around it.
struct Head {
  std::string classifier;           // the layer with weights
  std::string features;             // the layer, or input, whose result the head takes
  std::vector<std::string> layers;  // from dropout before the classifier to the output
  int64_t units = 0;
};
// Throws InvalidArgument, which says how the network ends, if it has no such head.
Head find_head(const Network& network);

struct HeadOptions {
  int64_t units = 0;
  std::string activation = "softmax";
};
// The same network with a new classifier: a dense layer with the name and the way to initialise
// weights of the old one. A convolution of 1x1 becomes global average pooling and a dense layer, or
// again a convolution if the network has an output for every pixel. Throws like find_head(), and
// if layers behind the classifier change the number of pixels.
Network with_head(const Network& network, const HeadOptions& options);

// The op that computes an output, "softmax", without ops that only change the shape; empty:
// the output is an input.
std::string last_op(const Network& network, size_t output = 0);

// The same network with another activation of its outputs; the classifier keeps its name, size and
// initial weights. Throws like find_head().
Network with_activation(const Network& network, const std::string& activation);

// The model for a task: itself, or a classifier with the activation and loss of the task. Throws
// InvalidArgument, which names both tasks, for other models.
ZooEntry for_task(const ZooEntry& entry, const std::string& task);

}  // namespace pando::zoo
