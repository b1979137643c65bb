// A gRPC server of a small model for the tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "pando/grpc/server.h"
#include "tests/serve/small_models.h"

namespace pando::grpc {

// Serves version 3 of the model "m", which multiplies four numbers by 2, at any free port.
struct SmallServer {
  explicit SmallServer(const ServerOptions& options_in = {}) {
    serve::write_version(folder.path(), 3, serve::scaling_model(2));
    serve::ServerConfig config = serve::config_of(folder.path());
    models = std::make_unique<serve::ModelServer>(config);
    models->await_ready(std::chrono::seconds(30));
    ServerOptions options = options_in;
    options.port = 0;
    options.version = "1.2.3";
    server = std::make_unique<Server>(options, *models);
  }
  std::string place() const { return "127.0.0.1:" + std::to_string(server->port()); }

  testing_support::TempFolder folder;
  std::unique_ptr<serve::ModelServer> models;
  std::unique_ptr<Server> server;
};

}  // namespace pando::grpc
