// The REST interface of the Open Inference Protocol, version 2, as KServe and Triton have it, with
// its extension for binary tensors: /v2/...
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "pando/http/reply.h"
#include "pando/rest/backend.h"

namespace pando::rest {

// Answers every request below /v2. `backend` must outlive it and the calls it makes.
class OpenInference : public http::Handler {
 public:
  OpenInference(Backend& backend, std::string version)
      : backend_(backend), version_(std::move(version)) {}
  void handle(const http::Request& request, http::Reply reply) override;

 private:
  void health(std::string_view which, http::Reply& reply) const;
  void model(const http::Request& request, http::Reply& reply);
  void infer(const http::Request& request, const serve::ModelSpec& spec, http::Reply& reply);
  void describe(const serve::ModelSpec& spec, http::Reply& reply) const;

  Backend& backend_;
  std::string version_;  // of the server
};

}  // namespace pando::rest
