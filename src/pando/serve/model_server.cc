// SPDX-License-Identifier: MIT
#include "pando/serve/model_server.h"

#include <algorithm>
#include <atomic>
#include <future>

#include "pando/base/clock.h"
#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/comm/job.h"
#include "pando/runtime/machine/device_set.h"
#include "pando/serve/batcher.h"
#include "pando/serve/repository.h"

namespace pando::serve {

namespace {

const ServerConfig& valid(const ServerConfig& config) {
  validate(config);
  return config;
}

int workers_of(const ServerConfig& config) {
  if (config.workers > 0) return config.workers;
  return std::max(runtime::topology_of(comm::current_job()).usable_cores(), 1);
}

}  // namespace

struct ModelServer::Impl {
  explicit Impl(const ServerConfig& config_in)
      : config(valid(config_in)),
        batcher(workers_of(config), config.trace),
        repository(config, {.workers = batcher.workers(),
                            .load = [this](const FoundVersion& found, const ModelConfig& model) {
                              return load(found, model);
                            }}) {
    metrics.before_text([this] {
      metrics.gauge("pando_in_flight", "Requests that are not answered yet.")
          .set(static_cast<double>(batcher.in_flight()));
    });
  }

  std::shared_ptr<LoadedModel> load(const FoundVersion& found, const ModelConfig& model) {
    const auto begin = Clock::now();
    const std::string folder = is_folder(found.path) ? found.path : "";
    std::shared_ptr<LoadedModel> loaded =
        LoadedModel::load(model_file_of(found), {.name = model.name,
                                                 .version = found.version,
                                                 .workers = batcher.workers(),
                                                 .max_batch = config.max_batch,
                                                 .max_request_samples = config.max_request_samples,
                                                 .warmup_runs = config.warmup_runs,
                                                 .examples_of = folder});
    ModelQueue& queue = loaded->queue();
    queue.limits = limits_of(config, model.batching, loaded->predictor().max_batch());
    queue.metrics = std::make_unique<ModelMetrics>(metrics, model.name, found.version);
    queue.seconds_per_sample = loaded->warm_seconds_per_sample();
    const double seconds = seconds_since(begin);
    metrics
        .gauge("pando_load_seconds", "Time to load and warm up a version.",
               {{"model", model.name}, {"version", std::to_string(found.version)}})
        .set(seconds);
    return loaded;
  }

  const ServerConfig config;
  mutable Metrics metrics;
  Batcher batcher;
  Repository repository;
  std::atomic<bool> draining{false};
  std::atomic<bool> refusing{false};
};

ModelServer::ModelServer(ServerConfig config) : impl_(std::make_unique<Impl>(config)) {}

ModelServer::~ModelServer() {
  begin_drain();
  impl_->batcher.stop();
}

Result<std::shared_ptr<const Servable>> ModelServer::find(const ModelSpec& spec) const {
  auto found = impl_->repository.find(spec);
  if (!found) return found.status();
  return std::shared_ptr<const Servable>(std::move(*found));
}

void ModelServer::submit(InferRequest request, InferCallback callback) {
  auto model = std::dynamic_pointer_cast<const LoadedModel>(request.servable);
  if (model == nullptr) return callback(failure(Code::internal, "the request has no model"));
  if (impl_->refusing) {
    return callback(failure(Code::unavailable, "the server is shutting down"));
  }
  Result<int64_t> samples = model->check(request);
  if (!samples) {
    model->queue().metrics->refused(samples.status());
    return callback(samples.status());
  }
  const double deadline = impl_->config.default_deadline_sec;
  if (request.deadline == Clock::time_point::max() && deadline > 0) {
    request.deadline = request.received + std::chrono::duration_cast<Clock::duration>(
                                              std::chrono::duration<double>(deadline));
  }
  impl_->batcher.submit(std::move(model), std::move(request), *samples, std::move(callback));
}

int ModelServer::reading_threads() const {
  constexpr int kMostThatHelp = 8;
  return std::min(impl_->batcher.workers(), kMostThatHelp);
}

bool ModelServer::may_help(int threads) const { return threads >= impl_->batcher.workers(); }

bool ModelServer::help() { return impl_->batcher.help(); }

Result<InferResponse> ModelServer::infer(InferRequest request) {
  std::promise<Result<InferResponse>> promise;
  auto answer = promise.get_future();
  submit(std::move(request),
         [&](Result<InferResponse> result) { promise.set_value(std::move(result)); });
  return answer.get();
}

std::vector<ModelStatus> ModelServer::models() const { return impl_->repository.models(); }

Result<ModelStatus> ModelServer::status(const ModelSpec& spec) const {
  return impl_->repository.status(spec);
}

bool ModelServer::live() const { return true; }

bool ModelServer::ready() const { return !impl_->draining && impl_->repository.all_available(); }

bool ModelServer::ready(const ModelSpec& spec) const {
  return !impl_->draining && static_cast<bool>(impl_->repository.find(spec));
}

bool ModelServer::await_ready(std::chrono::duration<double> at_most) const {
  impl_->repository.await_settled(at_most);
  return ready();
}

void ModelServer::reload(ServerConfig config) {
  validate(config);
  impl_->repository.reload(std::move(config));
}

void ModelServer::poll() { impl_->repository.poll(); }

void ModelServer::begin_drain() { impl_->draining = true; }

bool ModelServer::drain(std::chrono::duration<double> at_most) {
  begin_drain();
  impl_->refusing = true;
  return impl_->batcher.await_empty(at_most);
}

bool ModelServer::draining() const { return impl_->draining; }
int64_t ModelServer::in_flight() const { return impl_->batcher.in_flight(); }
Metrics& ModelServer::metrics() const { return impl_->metrics; }

}  // namespace pando::serve
