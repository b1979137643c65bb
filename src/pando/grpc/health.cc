// Tells clients and load balancers whether the models can be asked. gRPC's own service of this kind
// polls the connections by threads of its own, which slows down every call.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <thread>

#include <health.grpc.pb.h>

#include "pando/grpc/services_impl.h"

namespace pando::grpc {
namespace {

namespace health = ::grpc::health::v1;

constexpr std::chrono::milliseconds kLookInterval{20};
constexpr int64_t kMostWatchers = 64;  // each has a thread
// The whole server, the names of the services, and those that TensorFlow Serving uses.
constexpr std::string_view kHealthNames[] = {"",
                                             "tensorflow.serving.PredictionService",
                                             "tensorflow.serving.ModelService",
                                             "inference.GRPCInferenceService",
                                             "PredictionService",
                                             "ModelService"};

bool is_known(std::string_view name) {
  return std::ranges::find(kHealthNames, name) != std::end(kHealthNames);
}

class HealthService : public health::Health::Service {
 public:
  explicit HealthService(Shared& shared) : shared_(shared) {}

  ::grpc::Status Check(::grpc::ServerContext*, const health::HealthCheckRequest* message,
                       health::HealthCheckResponse* answer) override {
    if (!is_known(message->service())) {
      return {::grpc::StatusCode::NOT_FOUND, "service name unknown"};
    }
    answer->set_status(status());
    return ::grpc::Status::OK;
  }

  // Sends the state now and after each change, until the client goes.
  ::grpc::Status Watch(::grpc::ServerContext* context, const health::HealthCheckRequest* message,
                       ::grpc::ServerWriter<health::HealthCheckResponse>* writer) override {
    const Watcher watcher(watchers_);
    if (watchers_ > kMostWatchers) {
      return {::grpc::StatusCode::RESOURCE_EXHAUSTED, "too many clients watch the health"};
    }
    health::HealthCheckResponse answer;
    bool is_first = true;
    while (!context->IsCancelled() && !shared_.stopping) {
      const auto now =
          is_known(message->service()) ? status() : health::HealthCheckResponse::SERVICE_UNKNOWN;
      if (is_first || now != answer.status()) {
        answer.set_status(now);
        if (!writer->Write(answer)) break;
        is_first = false;
      }
      std::this_thread::sleep_for(kLookInterval);
    }
    return {::grpc::StatusCode::CANCELLED, "the server or the client ends"};
  }

 private:
  struct Watcher {
    explicit Watcher(std::atomic<int64_t>& count_in) : count(count_in) { ++count; }
    ~Watcher() { --count; }
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;
    std::atomic<int64_t>& count;
  };

  health::HealthCheckResponse::ServingStatus status() const {
    return shared_.models.ready() ? health::HealthCheckResponse::SERVING
                                  : health::HealthCheckResponse::NOT_SERVING;
  }

  Shared& shared_;
  std::atomic<int64_t> watchers_{0};
};

}  // namespace

ServiceParts make_health_service(Shared& shared) {
  return {.service = std::make_unique<HealthService>(shared), .listen = {}};
}

}  // namespace pando::grpc
