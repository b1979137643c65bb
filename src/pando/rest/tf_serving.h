// The REST interface of TensorFlow Serving: /v1/models/...
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pando/http/reply.h"
#include "pando/rest/backend.h"

namespace pando::rest {

// Answers every request below /v1. `backend` must outlive it and the calls it makes.
class TfServing : public http::Handler {
 public:
  explicit TfServing(Backend& backend) : backend_(backend) {}
  void handle(const http::Request& request, http::Reply reply) override;

 private:
  void get(const http::Request& request, http::Reply reply) const;
  void post(const http::Request& request, http::Reply& reply);

  Backend& backend_;
};

// /v1/models/NAME[/versions/N | /labels/L][/metadata | :VERB], with % codes decoded.
struct TfPath {
  serve::ModelSpec spec;
  std::string verb;  // "predict", "metadata", or empty
};
// Returns nothing for any other path. The case of the fixed parts does not matter.
std::optional<TfPath> parse_tf_path(std::string_view path);

}  // namespace pando::rest
