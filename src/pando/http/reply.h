// How a handler answers a request: at once or later, from any thread, whole or as a stream.
// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "pando/http/message.h"

namespace pando::http {

// What a reply is written to: a connection of the server, or a test. All functions may be called
// from any thread, but by one reply or stream only.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  virtual void send(Response response) = 0;
  // Like send(), but may wait until waker() is called, so that many answers wake a thread once.
  virtual void send_later(Response response) { send(std::move(response)); }
  // Null if nothing has to be called.
  virtual std::shared_ptr<const std::function<void()>> waker() { return nullptr; }
  // Whether ServerOptions::after_reads follows.
  virtual bool is_followed() const { return false; }
  virtual void begin_stream(Response head) = 0;
  virtual bool write(std::string data) = 0;  // false: the client is gone or reads too slowly
  virtual void end_stream() = 0;
};

// A reply that is written bit by bit; ends when it is destroyed.
class Stream {
 public:
  explicit Stream(std::shared_ptr<ReplySink> sink) : sink_(std::move(sink)) {}
  Stream(Stream&&) = default;
  Stream& operator=(Stream&&) = delete;
  ~Stream() {
    if (sink_) sink_->end_stream();
  }
  // Sends `data`, never waits. False: the client is gone or reads too slowly; write no more.
  bool write(std::string data) { return sink_->write(std::move(data)); }

 private:
  std::shared_ptr<ReplySink> sink_;
};

// The right to answer one request, once. If it is destroyed before, the answer is 500.
class Reply {
 public:
  explicit Reply(std::shared_ptr<ReplySink> sink) : sink_(std::move(sink)) {}
  Reply(Reply&&) = default;
  Reply& operator=(Reply&&) = delete;
  ~Reply() {
    if (!sink_) return;
    try {
      send(error_response(500, "the server has not answered"));
    } catch (const std::exception&) {
      // There is no memory for an answer.
    }
  }

  bool is_open() const { return sink_ != nullptr; }  // not answered and not moved away
  // Requires: neither was called before. The request and its views end here.
  void send(Response response) { std::exchange(sink_, nullptr)->send(std::move(response)); }
  // The same for callers that call waker() afterwards, unless it is null; it is the same object for
  // all requests of a thread.
  void send_later(Response response) {
    std::exchange(sink_, nullptr)->send_later(std::move(response));
  }
  std::shared_ptr<const std::function<void()>> waker() const { return sink_->waker(); }
  bool is_followed() const { return sink_->is_followed(); }
  // Sends the head; the body follows by Stream::write, for example server-sent events
  // (content type "text/event-stream", every event "data: ...\n\n").
  Stream stream(Response head) {
    sink_->begin_stream(std::move(head));
    return Stream(std::exchange(sink_, nullptr));
  }

 private:
  std::shared_ptr<ReplySink> sink_;
};

// Answers requests. The I/O threads call it and serve no other connection meanwhile: work that
// takes longer than reading the request belongs on other threads. An exception becomes an answer
// 500.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual void handle(const Request& request, Reply reply) = 0;
};

}  // namespace pando::http
