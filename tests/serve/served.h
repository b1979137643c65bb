// A server of one small model for tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/serve/small_models.h"

namespace pando::serve {

using testing_support::TempFolder;

inline std::shared_ptr<const Servable> model_of(const ModelServer& server,
                                                ModelSpec spec = {.name = "m"}) {
  auto found = server.find(spec);
  EXPECT_TRUE(found) << found.status().message;
  return found ? *found : nullptr;
}

// A server of one model with versions 1, 2, ... that multiply by their numbers.
struct Served {
  explicit Served(int versions, VersionPolicy policy = {}) {
    for (int i = 1; i <= versions; ++i) write(i);
    config = config_of(folder.path(), std::move(policy));
  }
  void write(int version) const {
    write_version(folder.path(), version, scaling_model(static_cast<float>(version)));
  }
  std::unique_ptr<ModelServer> start() const {
    auto server = std::make_unique<ModelServer>(config);
    server->await_ready(std::chrono::seconds(60));
    return server;
  }

  TempFolder folder;
  ServerConfig config;
};

}  // namespace pando::serve
