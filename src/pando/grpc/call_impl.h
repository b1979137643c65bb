// One call of a client on its way through the server, for any service.
//
// The thread of the connection reads the messages. Calls for a model are handed to the model
// server, whose threads write the answer; all others are answered at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <google/protobuf/arena.h>
#include <google/protobuf/message.h>

#include "pando/grpc/framing_impl.h"
#include "pando/grpc/held_impl.h"
#include "pando/grpc/server.h"
#include "pando/grpc/tensors_impl.h"
#include "pando/http/h2_call.h"

namespace pando::grpc {

// What all services share. Calls may outlive the server.
struct Shared {
  Shared(ServerOptions options_in, serve::ModelServer& models_in)
      : options(std::move(options_in)),
        models(models_in),
        io_threads(options.io_threads > 0 ? options.io_threads : models.reading_threads()),
        helps(models.may_help(io_threads)) {
    held.most = options.max_held_bytes;
  }
  const ServerOptions options;
  serve::ModelServer& models;
  const int io_threads;
  const bool helps;  // the threads compute short requests themselves
  HeldLimit held;    // by requests that are not answered
  std::atomic<bool> stopping{false};
};

enum class Packing { none, zlib };  // of the messages that are packed

// How a call begins.
struct CallStart {
  std::shared_ptr<Shared> shared;
  std::shared_ptr<http::CallSink> sink;
  serve::Clock::time_point deadline = serve::Clock::time_point::max();
  Packing packing = Packing::none;
  int64_t max_message_bytes = 0;  // of a message from the client, unpacked
};

// Ends a call without a message.
void refuse(http::CallSink& sink, const serve::Status& status);
// What an exception tells the client.
serve::Status status_of(const std::exception& error);

// While it lives, what arenas of counting_arena() take on this thread counts as held. An arena that
// would take too much throws TooMuchHeld.
class CountingScope {
 public:
  explicit CountingScope(HeldBytes& held);
  ~CountingScope();
  CountingScope(const CountingScope&) = delete;
  CountingScope& operator=(const CountingScope&) = delete;
};
google::protobuf::ArenaOptions counting_arena(char* block, size_t bytes);

class Call : public http::CallHandler, public std::enable_shared_from_this<Call> {
 public:
  explicit Call(CallStart start) : start_(std::move(start)) {}
  ~Call() override = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void on_data(std::string_view bytes) final;
  void on_end() final;
  void on_late(http::Clock::time_point now) final;
  void on_over() final { *cancelled_ = true; }
  bool may_idle() const override { return false; }

  bool is_over() const { return *cancelled_; }  // from any thread
  bool has_ended() const { return has_ended_; }
  // From any thread, but by one only. Another one than the connection's calls wake() afterwards.
  void send(const google::protobuf::MessageLite& message);
  // Ends the call; with a message, unless it is null. Only the first call counts.
  void end(const serve::Status& status, const google::protobuf::MessageLite* message = nullptr);
  void end_for(const std::exception& error) noexcept;  // the first exception of a call
  void wake() const { (*start_.sink->waker())(); }

 protected:
  virtual void on_message(std::string_view message) = 0;  // a whole one, unpacked
  virtual void on_complete() = 0;                         // no message follows
  // The call has ended: frees what it holds, unless another thread needs it.
  virtual void forget() {}

  Shared& shared() const { return *start_.shared; }
  const CallStart& start() const { return start_; }
  const std::shared_ptr<std::atomic<bool>>& cancelled() const { return cancelled_; }
  serve::Clock::time_point began() const { return began_; }
  // Reads a message; false: it was none of this type, and the call has ended.
  bool parse(std::string_view bytes, google::protobuf::MessageLite& message);
  HeldBytes& held() { return held_; }

 private:
  void read(std::string_view bytes);
  void take(const MessageSplitter::Message& message);
  void count_received();
  void forget_if_ended();

  const CallStart start_;
  const serve::Clock::time_point began_ = serve::Clock::now();
  MessageSplitter splitter_{start_.max_message_bytes};
  HeldBytes held_{start_.shared->held};
  int64_t received_ = 0;  // of them: bytes of a message that is not complete
  std::atomic<bool> has_ended_{false};
  // Shared with the request, which may outlive the call in the queue of the model.
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
};

// A call with one message from the client and one for it.
class UnaryCall : public Call {
 public:
  using Call::Call;

 protected:
  virtual google::protobuf::MessageLite& request() = 0;
  virtual void run() = 0;
  void on_message(std::string_view message) final;
  void on_complete() final;
  void forget() override;

  google::protobuf::Arena* arena() { return &arena_; }

 private:
  bool has_message_ = false;
  // Most messages without their tensors fit here.
  alignas(16) char block_[1024];
  google::protobuf::Arena arena_{counting_arena(block_, sizeof(block_))};
};

// A call that waits for a model.
class ModelCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 protected:
  // Makes a request from the message. Further data of the tensors are in `memory`.
  virtual serve::Result<serve::InferRequest> prepare(InputMemory& memory) = 0;
  // Makes the answer; on a thread of the model server.
  virtual const google::protobuf::MessageLite& write(const serve::InferResponse& response) = 0;

 private:
  void run() final;
  void forget() final;
  void answer(const serve::Result<serve::InferResponse>& result);

  InputMemory memory_{held()};
  bool is_at_model_ = false;  // which reads the message and answers
};

// One method of a service.
struct Method {
  std::string path;  // "/package.Service/Method"
  bool needs_token = true;
  std::function<std::shared_ptr<Call>(CallStart start)> make;
};

// A method that is answered at once: body(request, answer) returns the status.
template <typename Request, typename Response, typename Body>
Method answered_now(std::string path, Body body) {
  class NowCall : public UnaryCall {
   public:
    NowCall(CallStart start, const Body& body_in) : UnaryCall(std::move(start)), body_(body_in) {}

   private:
    google::protobuf::MessageLite& request() override { return *request_; }
    void run() override {
      auto* const answer = google::protobuf::Arena::CreateMessage<Response>(arena());
      const serve::Status status = body_(std::as_const(*request_), *answer);
      end(status, answer);
    }
    const Body body_;
    Request* const request_ = google::protobuf::Arena::CreateMessage<Request>(arena());
  };
  return {.path = std::move(path), .make = [body = std::move(body)](CallStart start) {
            return std::make_shared<NowCall>(std::move(start), body);
          }};
}

// A method that a model answers: prepare(request, memory) returns the request for it,
// write(request, response, answer) writes the answer.
template <typename Request, typename Response, typename Prepare, typename Write>
Method answered_by_model(std::string path, Prepare prepare, Write write) {
  class TypedCall : public ModelCall {
   public:
    TypedCall(CallStart start, const Prepare& prepare_in, const Write& write_in)
        : ModelCall(std::move(start)), prepare_(prepare_in), write_(write_in) {}

   private:
    google::protobuf::MessageLite& request() override { return *request_; }
    serve::Result<serve::InferRequest> prepare(InputMemory& memory) override {
      return prepare_(std::as_const(*request_), memory);
    }
    const google::protobuf::MessageLite& write(const serve::InferResponse& response) override {
      auto* const answer = google::protobuf::Arena::CreateMessage<Response>(arena());
      write_(std::as_const(*request_), response, *answer);
      return *answer;
    }
    const Prepare prepare_;
    const Write write_;
    Request* const request_ = google::protobuf::Arena::CreateMessage<Request>(arena());
  };
  return {.path = std::move(path),
          .make = [prepare = std::move(prepare), write = std::move(write)](CallStart start) {
            return std::make_shared<TypedCall>(std::move(start), prepare, write);
          }};
}

}  // namespace pando::grpc
