// Calls over HTTP/2 as their methods see them: both sides send bytes, in any order, and the answer
// ends with trailers. gRPC is made of such calls.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/http/message.h"

namespace pando::http {

// How a call begins. The views are valid during CallService::begin().
struct CallHead {
  std::string_view method;              // "POST"
  std::string_view path;                // "/package.Service/Method"
  std::string_view peer;                // "127.0.0.1:43210", or "unix"
  std::span<const HeaderView> headers;  // their names are in lower case

  // The value of a header, whose name is in lower case; empty if there is none.
  std::string_view header(std::string_view name) const;
};

// What a server sends at once.
struct CallPart {
  std::string data;
  bool is_last = false;
  std::vector<Header> trailers;  // of the last part
  int status = 200;              // of HTTP, in the first part
};

// What a method answers to. Every function may be called by any thread; when the call is over, they
// do nothing.
class CallSink {
 public:
  virtual ~CallSink() = default;
  // Sends a part; never waits. If another thread than the connection's calls it, the part is sent
  // after the next call of waker(), so that many answers wake the thread once.
  virtual void send(CallPart part) = 0;
  // Ends the call as one that failed, soon; for callers without memory for an answer.
  virtual void fail() noexcept = 0;
  // The same object for all calls of a thread.
  virtual std::shared_ptr<const std::function<void()>> waker() = 0;
};

// One call. The thread of its connection calls all functions, none after on_over(). An exception
// resets the call.
class CallHandler {
 public:
  virtual ~CallHandler() = default;
  virtual void on_data(std::string_view bytes) = 0;  // of the client
  virtual void on_end() = 0;                         // the client has sent everything
  virtual void on_late(Clock::time_point now) = 0;   // a few times a second, for time limits
  virtual void on_over() = 0;                        // answered, or the client has gone
  // Whether the client may be silent for as long as it likes.
  virtual bool may_idle() const = 0;
};

// Begins calls, on any of the server's threads.
class CallService {
 public:
  virtual ~CallService() = default;
  // Returns null if the call has been answered already.
  virtual std::shared_ptr<CallHandler> begin(const CallHead& head,
                                             std::shared_ptr<CallSink> sink) = 0;
};

}  // namespace pando::http
