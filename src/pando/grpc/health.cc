// Tells clients and load balancers whether the models can be asked.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include <health.pb.h>

#include "pando/base/threads.h"
#include "pando/grpc/services_impl.h"

namespace pando::grpc {
namespace {

namespace health = ::grpc::health::v1;
using State = health::HealthCheckResponse::ServingStatus;
using serve::Code;
using serve::failure;

constexpr std::chrono::milliseconds kLookInterval{20};
constexpr size_t kMostWatchers = 64;
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

State state_of(const Shared& shared) {
  return shared.models.ready() ? health::HealthCheckResponse::SERVING
                               : health::HealthCheckResponse::NOT_SERVING;
}

}  // namespace

// A client that watches: gets the state now and after each change, until it goes.
class WatchCall : public Call {
 public:
  WatchCall(CallStart start, std::shared_ptr<HealthWatch> watch)
      : Call(std::move(start)), watch_(std::move(watch)) {}

  bool may_idle() const override { return true; }
  void tell(State state) {
    const State now =
        is_known(request_.service()) ? state : health::HealthCheckResponse::SERVICE_UNKNOWN;
    if (told_ == now) return;
    told_ = now;
    health::HealthCheckResponse answer;
    answer.set_status(now);
    send(answer);
  }

 private:
  void on_message(std::string_view message) override { parse(message, request_); }
  void on_complete() override;

  const std::shared_ptr<HealthWatch> watch_;
  health::HealthCheckRequest request_;
  std::optional<State> told_;
};

class HealthWatch {
 public:
  explicit HealthWatch(std::shared_ptr<Shared> shared_in) : shared(std::move(shared_in)) {
    thread_ = start_thread("pando-health", [this](const std::stop_token& stop) { follow(stop); });
  }
  ~HealthWatch() = default;
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;

  // Calls keep this object, so it must let them go before.
  void stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    calls_.clear();
  }

  // False: there are too many.
  bool add(std::shared_ptr<WatchCall> call) {
    {
      const std::lock_guard lock(mutex_);
      forget_gone();
      if (is_stopped_ || calls_.size() >= kMostWatchers) return false;
      call->tell(state_of(*shared));
      calls_.push_back(std::move(call));
    }
    changed_.notify_all();
    return true;
  }

  const std::shared_ptr<Shared> shared;

 private:
  void forget_gone() {
    std::erase_if(calls_, [](const auto& call) { return call->is_over(); });
  }

  void follow(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (calls_.empty()) {
        changed_.wait(lock, stop, [&] { return !calls_.empty(); });
        continue;
      }
      look();
      changed_.wait_for(lock, stop, kLookInterval, [] { return false; });
    }
  }

  void look() {
    forget_gone();
    const State state = state_of(*shared);
    const bool is_stopping = shared->stopping;  // one answer for all
    for (const auto& call : calls_) {
      try {
        if (is_stopping) {
          call->end(failure(Code::cancelled, "the server or the client ends"));
        } else {
          call->tell(state);
        }
        call->wake();
      } catch (const std::exception& error) {  // no memory
        call->end_for(error);
      }
    }
    if (is_stopping) calls_.clear();
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::shared_ptr<WatchCall>> calls_;
  bool is_stopped_ = false;
  std::jthread thread_;
};

void WatchCall::on_complete() {
  auto self = std::static_pointer_cast<WatchCall>(shared_from_this());
  if (watch_->add(std::move(self))) return;
  end(failure(Code::resource_exhausted, "too many clients watch the health"));
}

std::shared_ptr<HealthWatch> start_health(std::shared_ptr<Shared> shared) {
  return std::make_shared<HealthWatch>(std::move(shared));
}

void stop_health(HealthWatch& watch) { watch.stop(); }

std::vector<Method> health_methods(const std::shared_ptr<HealthWatch>& watch) {
  Method check = answered_now<health::HealthCheckRequest, health::HealthCheckResponse>(
      "/grpc.health.v1.Health/Check",
      [shared = watch->shared](const auto& message, auto& answer) -> serve::Status {
        if (!is_known(message.service())) return failure(Code::not_found, "service name unknown");
        answer.set_status(state_of(*shared));
        return {};
      });
  check.needs_token = false;
  Method watching{.path = "/grpc.health.v1.Health/Watch",
                  .needs_token = false,
                  .make = [watch](CallStart start) {
                    return std::make_shared<WatchCall>(std::move(start), watch);
                  }};
  return {std::move(check), std::move(watching)};
}

}  // namespace pando::grpc
