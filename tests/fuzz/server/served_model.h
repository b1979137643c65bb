// A model server for fuzz targets: multiplies four numbers by 2.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>

#include "pando/base/error.h"
#include "pando/rest/backend.h"
#include "pando/serve/model_server.h"
#include "tests/serve/small_models.h"

namespace pando::fuzz {

class ServedModel {
 public:
  ServedModel() {
    serve::write_version(folder_.path(), 1, serve::scaling_model(2));
    server_ = std::make_unique<serve::ModelServer>(serve::config_of(folder_.path()));
    PANDO_CHECK(server_->await_ready(std::chrono::minutes(1)), "the model is not served");
    backend_ = rest::backend_of(*server_);
  }
  serve::ModelServer& server() { return *server_; }
  rest::Backend& backend() { return *backend_; }

 private:
  testing_support::TempFolder folder_;
  std::unique_ptr<serve::ModelServer> server_;
  std::unique_ptr<rest::Backend> backend_;
};

// One for the whole program.
inline ServedModel& served_model() {
  static ServedModel model;
  return model;
}

}  // namespace pando::fuzz
