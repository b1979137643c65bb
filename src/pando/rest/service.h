// Answers all HTTP requests of the server: both protocols, metrics, the page.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/http/routes.h"
#include "pando/rest/backend.h"
#include "pando/rest/open_inference.h"
#include "pando/rest/tf_serving.h"

namespace pando::rest {

struct ServiceOptions {
  std::string version;  // of the program
  bool cors = false;    // lets pages of other addresses ask
  bool page = true;     // at "/"
};

//   /v1/...                          TensorFlow Serving
//   /v2/...                          Open Inference Protocol
//   /metrics, /monitoring/prometheus/metrics
//   /                                the page; /pando/models is what it shows
//   /pando/examples/MODEL/FILE       a picture that was stored with the model
class Service : public http::Handler {
 public:
  // `backend` must outlive it and the calls it makes.
  Service(Backend& backend, ServiceOptions options);
  void handle(const http::Request& request, http::Reply reply) override;

  // Requests that need no token: health checks, and the page, which asks the user for the token.
  static std::vector<std::string> public_paths();

 private:
  Backend& backend_;
  ServiceOptions options_;
  TfServing tf_serving_;
  OpenInference open_inference_;
  http::Routes routes_;
};

// The models with their versions, states, inputs and classes, as JSON.
std::string models_text(const Backend& backend);

}  // namespace pando::rest
