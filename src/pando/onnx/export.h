// Turns a network with its weights into an ONNX model for inference, channels first as other
// software expects it.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pando/nn/network.h"
#include "pando/onnx/proto.h"
#include "pando/tensor/tensor.h"

namespace pando::onnx {

struct ExportOptions {
  int64_t opset = 13;                           // 9 to 17
  std::map<std::string, std::string> metadata;  // of the file
  std::string name = "model";                   // of the graph
  std::string producer_version;
  int64_t batch = 0;  // of inputs and outputs; 0: free, with the name N
};

// `weights` are f32, by the names of Model::weight_names().
// Throws InvalidArgument for an opset out of range or a missing weight, Unsupported with a list of
// all layers that the opset cannot express.
ModelProto export_network(const Network& network, const std::map<std::string, Tensor>& weights,
                          const ExportOptions& options = {});

}  // namespace pando::onnx
