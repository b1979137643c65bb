// SPDX-License-Identifier: MIT
#include <cmath>
#include <new>

#include "pando/base/error.h"
#include "pando/grpc/call_impl.h"
#include "pando/http/message.h"

namespace pando::grpc {
namespace {

::grpc::Status status_of(const std::exception& error) {
  const auto* own = dynamic_cast<const Error*>(&error);
  if (own != nullptr && own->kind() == ErrorKind::invalid_argument) {
    return {::grpc::StatusCode::INVALID_ARGUMENT, error.what()};
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return {::grpc::StatusCode::RESOURCE_EXHAUSTED,
            "the server has not enough memory for this request; send fewer samples, or try later"};
  }
  return {::grpc::StatusCode::INTERNAL, "the request could not be answered"};
}

}  // namespace

::grpc::Status to_grpc(const serve::Status& status) {
  return {static_cast<::grpc::StatusCode>(status.code), status.message};
}

::grpc::Status check_token(const ServerOptions& options, const ServerContext& context) {
  if (options.token.empty()) return ::grpc::Status::OK;
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("authorization");
  if (found != metadata.end() &&
      http::equal_in_constant_time({found->second.data(), found->second.size()},
                                   "Bearer " + options.token)) {
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

::grpc::Status answer_now(const Shared& shared, const ServerContext* context,
                          const std::function<::grpc::Status()>& body) {
  ::grpc::Status status = check_token(shared.options, *context);
  if (!status.ok()) return status;
  try {
    return body();
  } catch (const std::exception& error) {
    return status_of(error);
  }
}

void ModelCall::answer_later(const Prepare& prepare, Write write) {
  write_ = std::move(write);
  try {
    start(prepare);
  } catch (const std::exception& error) {
    send(status_of(error));
  }
}

void ModelCall::start(const Prepare& prepare) {
  const ::grpc::Status allowed = check_token(shared_.options, context_);
  if (!allowed.ok()) return send(allowed);
  auto request = prepare(memory_);
  if (!request) return refuse(request.status());
  request->deadline = deadline_of(context_);
  request->cancelled = cancelled_;
  shared_.models.submit(std::move(*request), [this](serve::Result<serve::InferResponse> result) {
    if (!result) return refuse(result.status());
    send(write(*result));
  });
}

void ModelCall::refuse(const serve::Status& status) {
  if (status.retry_after_sec > 0) {
    // What gRPC's own retries understand.
    const auto wait = static_cast<int64_t>(std::ceil(status.retry_after_sec * 1e3));
    context_.AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(wait));
  }
  send(to_grpc(status));
}

::grpc::Status ModelCall::write(const serve::InferResponse& response) const {
  try {
    return write_(response);
  } catch (const std::exception& error) {
    return status_of(error);
  }
}

void ModelCall::on_arrived(bool ok) {
  Shared& shared = shared_;
  if (!ok) {  // the server shuts down before a call came; gRPC sends no further event
    delete this;
    --shared.expected_calls;
    return;
  }
  ++shared.open_calls;  // before the other number falls, so that no call is overlooked
  expect_another();
  --shared.expected_calls;
  handle();
}

void ModelCall::on_over(bool) {
  if (context_.IsCancelled()) *cancelled_ = true;
  delete_after_last();
}

void ModelCall::on_finished(bool) { delete_after_last(); }

void ModelCall::delete_after_last() {
  if (--open_events_ > 0) return;
  Shared& shared = shared_;
  delete this;
  --shared.open_calls;
}

}  // namespace pando::grpc
