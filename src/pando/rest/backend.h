// The functions of a model server that the protocols use. Tests replace the server.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pando/serve/model_server.h"

namespace pando::rest {

// Every function may be called by any thread; they mean what they mean in serve::ModelServer.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual serve::Result<std::shared_ptr<const serve::Servable>> find(
      const serve::ModelSpec& spec) const = 0;
  virtual void submit(serve::InferRequest request, serve::InferCallback callback) = 0;
  virtual std::vector<serve::ModelStatus> models() const = 0;
  virtual serve::Result<serve::ModelStatus> status(const serve::ModelSpec& spec) const = 0;
  virtual bool live() const = 0;
  virtual bool ready() const = 0;
  virtual bool ready(const serve::ModelSpec& spec) const = 0;
  virtual std::string metrics_text() const = 0;
};

// A backend that asks a model server, which must outlive it.
std::unique_ptr<Backend> backend_of(serve::ModelServer& server);

}  // namespace pando::rest
