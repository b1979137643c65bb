// Models in ONNX files, from other software and for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pando/train/load_options.h"

namespace pando {

// An ordinary model with the weights of the file, which can be trained, cut and saved. Pictures are
// channels last, also if the file has channels first: an input [N, 3, 224, 224] takes samples [224,
// 224, 3]. Layers are named after the weights of the file ("layer1.0.conv1" for
// "layer1.0.conv1.weight"), or after its nodes. The facts are in the file's metadata
// (model_facts.h). Throws IoError for a damaged file, Unsupported with a list of all nodes that are
// not known.
Model load_onnx(const std::string& path, const LoadModelOptions& options = {});

struct OnnxSaveOptions {
  int64_t opset = 0;                                 // 9 to 17; 0: 13 or, if layers need it, 17
  std::map<std::string, std::string> metadata = {};  // beside the facts of the model
  // Weights of more than one number are stored in 16 bits and converted when they are used: half
  // the size, and other software computes in 32 bits.
  bool half = false;
  int64_t batch = 0;  // binds other software to it; 0: any
};

// Writes the network for inference, channels first as other software expects it.
// Throws Unsupported with a list of all layers that the opset cannot express, IoError if the file
// cannot be written; an older file then stays.
void save_onnx(const Model& model, const std::string& path, const OnnxSaveOptions& options = {});

}  // namespace pando
