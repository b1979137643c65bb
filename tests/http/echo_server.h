// A server for tests: answers what it was asked, at once, later, in parts or not at all.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "pando/base/strings.h"
#include "pando/http/routes.h"
#include "pando/http/server.h"

namespace pando::http {

class EchoRoutes : public Routes {
 public:
  EchoRoutes() {
    add("*", "/echo*", [](const Request& request, Reply reply) {
      Response response;
      response.content_type = "text/plain";
      response.body = concat(request.method, " ", request.path, " ", request.query, " ",
                             request.header("x-test"), " ", request.body);
      reply.send(std::move(response));
    });
    add("GET", "/drop", [](const Request&, Reply) {});
    add("GET", "/throw",
        [](const Request&, Reply) { throw std::runtime_error("a secret of the inside"); });
    add("GET", "/wait", [this](const Request&, Reply reply) {
      const std::lock_guard lock(mutex_);
      waiting_.emplace(std::move(reply));
      changed_.notify_all();
    });
    add("GET", "/sleep", [](const Request&, Reply reply) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      reply.send({});
    });
    add("GET", "/large", [](const Request&, Reply reply) {
      reply.send({.content_type = "text/plain", .body = std::string(16 << 20, 'x')});
    });
    add("GET", "/stream", [](const Request&, Reply reply) {
      Stream stream = reply.stream({.content_type = "text/event-stream"});
      stream.write("data: 1\n\n");
      stream.write("data: 2\n\n");
    });
    add("GET", "/flood", [](const Request&, Reply reply) {
      Stream stream = reply.stream({.content_type = "text/plain"});
      while (stream.write(std::string(100'000, 'y'))) {
      }
    });
  }

  // Waits for the request to /wait; its answer is sent by the caller.
  Reply take_waiting() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.has_value(); });
    Reply reply = std::move(*waiting_);
    waiting_.reset();
    return reply;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Reply> waiting_;
};

inline std::string get(std::string_view path, std::string_view headers = "") {
  return concat("GET ", path, " HTTP/1.1\r\nHost: x\r\n", headers, "\r\n");
}
inline std::string post(std::string_view path, std::string_view body,
                        std::string_view headers = "") {
  return concat("POST ", path, " HTTP/1.1\r\nHost: x\r\nContent-Length: ", body.size(), "\r\n",
                headers, "\r\n", body);
}

}  // namespace pando::http
