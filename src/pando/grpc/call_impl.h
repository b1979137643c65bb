// One call of a client on its way through the server, for any service.
//
// Calls for a model are taken from one completion queue by one thread: it reads the message, hands
// the request to the model server, and does not wait for the answer. If no other call waits, it
// also computes a short call itself (see Batcher). All other calls are answered at once, by threads
// of gRPC.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include <google/protobuf/arena.h>
#include <grpcpp/grpcpp.h>

#include "pando/grpc/server.h"
#include "pando/grpc/tensors_impl.h"

namespace pando::grpc {

using ServerContext = ::grpc::ServerContext;

// What all services share.
struct Shared {
  const ServerOptions& options;
  serve::ModelServer& models;
  std::atomic<int64_t> expected_calls{0};  // that gRPC has been asked for and has not brought
  std::atomic<int64_t> open_calls{0};      // that have arrived and are not answered
  std::atomic<bool> stopping{false};
};

::grpc::Status to_grpc(const serve::Status& status);
// OK, or UNAUTHENTICATED if the client does not have the token.
::grpc::Status check_token(const ServerOptions& options, const ServerContext& context);
// When the client gives up, by the steady clock.
serve::Clock::time_point deadline_of(const ServerContext& context);

// What `body` returns, for clients with the token; exceptions become failures.
::grpc::Status answer_now(const Shared& shared, const ServerContext* context,
                          const std::function<::grpc::Status()>& body);

// Prepares a request from the message. Further data of the tensors are in `memory`.
using Prepare = std::function<serve::Result<serve::InferRequest>(InputMemory& memory)>;
// Writes the answer; runs on a thread of the model server.
using Write = std::function<::grpc::Status(const serve::InferResponse& response)>;

// A call that waits for a model. Is created before a client calls. Deletes itself after its answer
// was sent and gRPC has reported the end of the call, which also happens if the client cancels.
class ModelCall {
 public:
  virtual ~ModelCall() = default;
  ModelCall(const ModelCall&) = delete;
  ModelCall& operator=(const ModelCall&) = delete;

  // Answers when the model has. A call that the client cancels is not computed.
  void answer_later(const Prepare& prepare, Write write);

  // The events that the completion queue delivers to a call.
  struct Event {
    ModelCall* call = nullptr;
    void (ModelCall::*happen)(bool ok) = nullptr;
  };

 protected:
  explicit ModelCall(Shared& shared) : shared_(shared) {}
  virtual void expect_another() = 0;  // a call of the same method
  virtual void handle() = 0;
  virtual void send(const ::grpc::Status& status) = 0;  // then finished_

  Shared& shared_;
  ServerContext context_;
  Event arrived_{this, &ModelCall::on_arrived};
  Event finished_{this, &ModelCall::on_finished};
  Event over_{this, &ModelCall::on_over};

 private:
  void on_arrived(bool ok);
  void on_finished(bool ok);
  void on_over(bool ok);
  void delete_after_last();
  void start(const Prepare& prepare);
  void refuse(const serve::Status& status);
  ::grpc::Status write(const serve::InferResponse& response) const;

  Write write_;
  InputMemory memory_;
  int open_events_ = 2;  // finished and over; only the thread of the queue counts
  // Shared with the request, which may outlive the call in the queue of the model.
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
};

// How a method of a service is taken from the queue and answered.
template <typename Request, typename Response>
struct Method {
  using Responder = ::grpc::ServerAsyncResponseWriter<Response>;
  std::function<void(ServerContext*, Request*, Responder*, ::grpc::ServerCompletionQueue*, void*)>
      expect;
  std::function<void(ModelCall& call, const Request& message, Response& answer)> handle;
};

template <typename Request, typename Response>
class TypedCall : public ModelCall {
 public:
  TypedCall(Shared& shared, std::shared_ptr<const Method<Request, Response>> method,
            ::grpc::ServerCompletionQueue& queue)
      : ModelCall(shared), method_(std::move(method)), queue_(queue) {
    ++shared_.expected_calls;
    context_.AsyncNotifyWhenDone(&over_);
    method_->expect(&context_, request_, &responder_, &queue_, &arrived_);
  }

 private:
  void expect_another() override { new TypedCall(shared_, method_, queue_); }
  void handle() override { method_->handle(*this, *request_, *response_); }
  void send(const ::grpc::Status& status) override {
    if (status.ok()) return responder_.Finish(*response_, status, &finished_);
    responder_.FinishWithError(status, &finished_);
  }

  const std::shared_ptr<const Method<Request, Response>> method_;
  ::grpc::ServerCompletionQueue& queue_;
  // The messages are in memory of their own, which goes at once.
  google::protobuf::Arena arena_;
  Request* const request_ = google::protobuf::Arena::CreateMessage<Request>(&arena_);
  Response* const response_ = google::protobuf::Arena::CreateMessage<Response>(&arena_);
  typename Method<Request, Response>::Responder responder_{&context_};
};

// Begins to take the calls of a method.
template <typename Request, typename Response>
void listen(Shared& shared, ::grpc::ServerCompletionQueue& queue,
            Method<Request, Response> method) {
  using Typed = TypedCall<Request, Response>;
  new Typed(shared, std::make_shared<const Method<Request, Response>>(std::move(method)), queue);
}

}  // namespace pando::grpc
