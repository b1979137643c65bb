// SPDX-License-Identifier: MIT
#include "pando/rest/backend.h"

namespace pando::rest {
namespace {

class ServerBackend : public Backend {
 public:
  explicit ServerBackend(serve::ModelServer& server) : server_(server) {}
  serve::Result<std::shared_ptr<const serve::Servable>> find(
      const serve::ModelSpec& spec) const override {
    return server_.find(spec);
  }
  void submit(serve::InferRequest request, serve::InferCallback callback) override {
    server_.submit(std::move(request), std::move(callback));
  }
  std::vector<serve::ModelStatus> models() const override { return server_.models(); }
  serve::Result<serve::ModelStatus> status(const serve::ModelSpec& spec) const override {
    return server_.status(spec);
  }
  bool live() const override { return server_.live(); }
  bool ready() const override { return server_.ready(); }
  bool ready(const serve::ModelSpec& spec) const override { return server_.ready(spec); }
  std::string metrics_text() const override { return server_.metrics().text(); }

 private:
  serve::ModelServer& server_;
};

}  // namespace

std::unique_ptr<Backend> backend_of(serve::ModelServer& server) {
  return std::make_unique<ServerBackend>(server);
}

}  // namespace pando::rest
