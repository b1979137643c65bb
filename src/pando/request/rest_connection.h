// A connection to a model server over HTTP: TensorFlow Serving's REST with JSON, or the Open
// Inference Protocol with binary tensors.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "pando/request/load.h"
#include "pando/serve/infer.h"

namespace pando::request {

struct RestTarget {
  std::string host;
  int port = 8501;
  std::string model;
  bool open_inference = false;
  std::string token;
};

// The whole request for one tensor of numbers: head and body.
std::string rest_request(const RestTarget& target, const serve::InputTensor& input);

// Throws IoError if it cannot connect.
std::unique_ptr<Connection> connect_rest(const RestTarget& target, std::string request);

}  // namespace pando::request
