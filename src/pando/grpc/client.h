// A connection to a model server over gRPC, for `pando request`.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pando/serve/infer.h"
#include "pando/serve/status.h"

namespace pando::grpc {

// A server's description of its newest version of a model.
struct Signature {
  std::vector<serve::TensorInfo> inputs;
  int64_t version = 0;
};

// Names of classes and their scores, the likeliest first.
using Classes = std::vector<std::pair<std::string, float>>;
void sort(Classes& classes);
// A class without a name has its number.
Classes named_classes(const std::vector<float>& scores, const std::vector<std::string>& labels);

struct ClientOptions {
  std::string host = "127.0.0.1";
  int port = 8500;
  std::string model;
  bool open_inference = false;  // that protocol instead of TensorFlow Serving's
  std::string token;
};

// Used by one thread. Calls end with a status, never with an exception.
class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Waits for the server until then.
  serve::Result<Signature> signature(std::chrono::duration<double> at_most);
  // What infer() sends from now on; copies it.
  void prepare(const serve::InputTensor& input);
  serve::Status infer(std::chrono::duration<double> at_most);
  // The classes of a picture, a JPEG or PNG file.
  serve::Result<Classes> classify(const std::string& picture,
                                  std::chrono::duration<double> at_most);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pando::grpc
