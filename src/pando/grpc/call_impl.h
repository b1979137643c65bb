// One call of a client on its way through the server, whatever service it is of.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include <google/protobuf/arena.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/message_allocator.h>

#include "pando/grpc/server.h"
#include "pando/grpc/tensors_impl.h"

namespace pando::grpc {

using ServerContext = ::grpc::CallbackServerContext;
using Reactor = ::grpc::ServerUnaryReactor;

// What all services share.
struct Shared {
  const ServerOptions& options;
  serve::ModelServer& models;
  std::atomic<int64_t> open_calls{0};
};

::grpc::Status to_grpc(const serve::Status& status);
// OK, or UNAUTHENTICATED if the client does not have the token.
::grpc::Status check_token(const ServerOptions& options, const ServerContext& context);
// When the client gives up, by the steady clock.
serve::Clock::time_point deadline_of(const ServerContext& context);

// Answers at once with what `body` returns; exceptions become failures.
Reactor* answer_now(const Shared& shared, ServerContext* context,
                    const std::function<::grpc::Status()>& body);

// Prepares a request from the message; what the tensors need beside it is in the memory.
using Prepare = std::function<serve::Result<serve::InferRequest>(InputMemory& memory)>;
// Writes the answer; runs on a thread of the model server.
using Write = std::function<::grpc::Status(const serve::InferResponse& response)>;
// Answers when the model has. A call that the client cancels is not computed.
Reactor* answer_later(Shared& shared, ServerContext* context, const Prepare& prepare, Write write);

// Messages of a call in memory of their own, which goes at once.
template <typename Request, typename Response>
class ArenaMessages : public ::grpc::MessageAllocator<Request, Response> {
 public:
  ::grpc::MessageHolder<Request, Response>* AllocateMessages() override { return new Holder; }

 private:
  class Holder : public ::grpc::MessageHolder<Request, Response> {
   public:
    Holder() {
      this->set_request(google::protobuf::Arena::CreateMessage<Request>(&arena_));
      this->set_response(google::protobuf::Arena::CreateMessage<Response>(&arena_));
    }
    void Release() override { delete this; }

   private:
    google::protobuf::Arena arena_;
  };
};

}  // namespace pando::grpc
