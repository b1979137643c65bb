// Turns the graph of an ONNX file into a network with weights, channels last inside: it can be
// trained, cut, frozen and given a new head like any other.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pando/nn/network.h"
#include "pando/onnx/constant.h"
#include "pando/onnx/proto.h"
#include "pando/tensor/tensor.h"

namespace pando::onnx {

// Where the samples of a file are.
enum class Batch {
  first_axis,  // of every input and output
  none,        // the file is about one sample; inputs and outputs get an axis for the batch
};

struct ImportOptions {
  // Extents that the file leaves open, by their names in the file ("height") or as "input:2", axis
  // 2 of an input. The batch stays free.
  std::map<std::string, int64_t> extents = {};
  Batch batch = Batch::first_axis;
};

struct ImportedNetwork {
  Network network;
  // By the names of Model::weight_names(), "conv1/kernel".
  std::vector<std::pair<std::string, Tensor>> weights;
  // Axis i of an input or output is axis order[i] of the file: {0, 2, 3, 1} for pictures. With
  // Batch::none, axis 0 is that of the batch, and axis 1 the first one of the file.
  std::vector<std::vector<int64_t>> input_orders;
  std::vector<std::vector<int64_t>> output_orders;
};

// Throws Unsupported with a list of all nodes that cannot be imported, by op with their names,
// IoError for a damaged graph or one whose shapes do not fit, and InvalidArgument for extents
// that are missing or no extents.
ImportedNetwork import_network(const ModelProto& model, const ImportOptions& options = {});

// The outputs of a file that has no inputs, or whose inputs are all initializers too: what is
// computed from constants alone. Throws Unsupported if a node needs more than that.
std::vector<Constant> constant_outputs(const ModelProto& model);

// "Op (count): name, name, ..." for every op that import_network does not know; empty: none.
std::vector<std::string> unknown_ops(const ModelProto& model);

}  // namespace pando::onnx
