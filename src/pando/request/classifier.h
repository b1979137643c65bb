// Asks a model server for the classes of pictures, by any protocol.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "pando/grpc/client.h"
#include "pando/request/load.h"
#include "pando/request/rest_connection.h"

namespace pando::request {

// Used by one thread.
class Classifier {
 public:
  virtual ~Classifier() = default;
  // The likeliest first. `picture`: the bytes of a JPEG or PNG file.
  virtual serve::Result<grpc::Classes> classify(const std::string& picture, Seconds at_most) = 0;
};

std::unique_ptr<Classifier> grpc_classifier(const grpc::ClientOptions& options);
// Throws IoError if it cannot connect.
std::unique_ptr<Classifier> rest_classifier(const RestTarget& target);

}  // namespace pando::request
