// The front of the server that all protocols call: finds models, answers requests, knows the state
// of every version.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pando/serve/config.h"
#include "pando/serve/infer.h"
#include "pando/serve/metrics.h"
#include "pando/serve/model_status.h"
#include "pando/serve/servable.h"
#include "pando/serve/status.h"

namespace pando::serve {

// Every method may be called by any thread at any time. Starts its workers, and a thread of low
// priority that looks for versions and loads them.
class ModelServer {
 public:
  // Returns at once; await_ready() waits for the models. Throws InvalidArgument for a configuration
  // that cannot be.
  explicit ModelServer(ServerConfig config);
  ~ModelServer();  // drains without waiting: what waits is answered with `unavailable`
  ModelServer(const ModelServer&) = delete;
  ModelServer& operator=(const ModelServer&) = delete;

  // The version that answers requests now. Texts of failures are TensorFlow Serving's: "Servable
  // not found for request: Latest(NAME)", `Serving signature name: "X" not found in signature def`.
  Result<std::shared_ptr<const Servable>> find(const ModelSpec& spec) const;
  // Checks the request and hands it to the workers. Throws nothing: errors are answers.
  void submit(InferRequest request, InferCallback callback);
  // How many threads a protocol should read requests with: one for each worker, so that they can
  // help(); where there are many workers, fewer, which only read.
  int reading_threads() const;
  // Whether this many threads may help: as many as there are workers. Fewer could not use all
  // cores.
  bool may_help(int threads) const;
  // Computes some of the short requests that wait, where the caller is. For threads that read
  // requests: they call it when they have submitted all that have arrived. True: more are waiting,
  // and the caller should come back after it has looked at its clients.
  bool help();
  // The same as submit() for callers that wait.
  Result<InferResponse> infer(InferRequest request);

  std::vector<ModelStatus> models() const;
  // All versions of a model, or the one that `spec` names.
  Result<ModelStatus> status(const ModelSpec& spec) const;

  bool live() const;   // the process answers
  bool ready() const;  // every model has an available version, and the server does not drain
  bool ready(const ModelSpec& spec) const;
  // Waits until ready(), until every model is available or has failed to load, or until the time is
  // over. Returns ready().
  bool await_ready(std::chrono::duration<double> at_most) const;

  // Applies a new configuration: unloads models that are not in it and loads new ones. Workers and
  // limits stay as they are. Throws InvalidArgument; then nothing changes.
  void reload(ServerConfig config);
  // Looks for versions now and waits until what it found is loaded or has failed.
  void poll();

  // From now on ready() is false. Requests are still answered.
  void begin_drain();
  // Refuses new requests with `unavailable` and waits until all others are answered. False: the
  // time was over before.
  bool drain(std::chrono::duration<double> at_most);
  bool draining() const;
  int64_t in_flight() const;  // requests that are not answered yet

  Metrics& metrics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pando::serve
