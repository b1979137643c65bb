// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/base/error.h"
#include "pando/grpc/call_impl.h"

namespace pando::grpc {
namespace {

// Compares in a time that does not depend on where the texts differ.
bool is_same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

::grpc::Status status_of(const std::exception& error) {
  const auto* own = dynamic_cast<const Error*>(&error);
  if (own != nullptr && own->kind() == ErrorKind::invalid_argument) {
    return {::grpc::StatusCode::INVALID_ARGUMENT, error.what()};
  }
  return {::grpc::StatusCode::INTERNAL, "the request could not be answered"};
}

class InferCall : public Reactor {
 public:
  InferCall(Shared& shared, ServerContext& context, Write write)
      : shared_(shared), context_(context), write_(std::move(write)) {
    ++shared_.open_calls;
  }
  ~InferCall() override { --shared_.open_calls; }

  void OnCancel() override { *cancelled_ = true; }
  void OnDone() override { delete this; }

  void start(const Prepare& prepare) {
    const ::grpc::Status allowed = check_token(shared_.options, context_);
    if (!allowed.ok()) return Finish(allowed);
    auto request = prepare(memory_);
    if (!request) return refuse(request.status());
    request->deadline = deadline_of(context_);
    request->cancelled = cancelled_;
    shared_.models.submit(std::move(*request), [this](serve::Result<serve::InferResponse> result) {
      if (!result) return refuse(result.status());
      Finish(write(*result));
    });
  }
  void refuse(const serve::Status& status) {
    if (status.retry_after_sec > 0) {
      // What gRPC's own retries understand.
      const auto wait = static_cast<int64_t>(std::ceil(status.retry_after_sec * 1e3));
      context_.AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(wait));
    }
    Finish(to_grpc(status));
  }

 private:
  ::grpc::Status write(const serve::InferResponse& response) const {
    try {
      return write_(response);
    } catch (const std::exception& error) {
      return status_of(error);
    }
  }

  Shared& shared_;
  ServerContext& context_;
  Write write_;
  InputMemory memory_;
  // Shared with the request, which may outlive the call in the queue of the model.
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

::grpc::Status to_grpc(const serve::Status& status) {
  return {static_cast<::grpc::StatusCode>(status.code), status.message};
}

::grpc::Status check_token(const ServerOptions& options, const ServerContext& context) {
  if (options.token.empty()) return ::grpc::Status::OK;
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("authorization");
  if (found != metadata.end() &&
      is_same_secret({found->second.data(), found->second.size()}, "Bearer " + options.token)) {
    return ::grpc::Status::OK;
  }
  return {::grpc::StatusCode::UNAUTHENTICATED,
          "expected the metadata 'authorization: Bearer TOKEN' with the server's token"};
}

serve::Clock::time_point deadline_of(const ServerContext& context) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) {
    return serve::Clock::time_point::max();
  }
  const auto left = deadline - std::chrono::system_clock::now();
  constexpr std::chrono::hours kForever{24 * 365};
  if (left > kForever) return serve::Clock::time_point::max();
  return serve::Clock::now() + std::chrono::duration_cast<serve::Clock::duration>(left);
}

Reactor* answer_now(const Shared& shared, ServerContext* context,
                    const std::function<::grpc::Status()>& body) {
  Reactor* reactor = context->DefaultReactor();
  ::grpc::Status status = check_token(shared.options, *context);
  try {
    if (status.ok()) status = body();
  } catch (const std::exception& error) {
    status = status_of(error);
  }
  reactor->Finish(std::move(status));
  return reactor;
}

Reactor* answer_later(Shared& shared, ServerContext* context, const Prepare& prepare, Write write) {
  auto* call = new InferCall(shared, *context, std::move(write));
  try {
    call->start(prepare);
  } catch (const std::exception& error) {
    call->Finish(status_of(error));
  }
  return call;
}

}  // namespace pando::grpc
