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

// Asks for anything, on one connection. Used by one thread.
class RestClient {
 public:
  // Throws IoError if it cannot connect.
  explicit RestClient(RestTarget target);
  ~RestClient();
  RestClient(const RestClient&) = delete;
  RestClient& operator=(const RestClient&) = delete;

  // Sends a whole request: head and body. Returns the body of the answer.
  serve::Result<std::string> ask(const std::string& request, Seconds at_most);
  // The same for a path: POST, or GET without a body. `headers`: lines of further ones.
  serve::Result<std::string> ask(const std::string& path, const std::string& headers,
                                 const std::string& body, Seconds at_most);

 private:
  class Link;
  const RestTarget target_;
  const std::unique_ptr<Link> link_;
};

// The whole request for one tensor of numbers: head and body.
std::string rest_request(const RestTarget& target, const serve::InputTensor& input);

// Throws IoError if it cannot connect.
std::unique_ptr<Connection> connect_rest(const RestTarget& target, std::string request);

}  // namespace pando::request
