// Keeps an answer for a test, which may come from another thread.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "pando/http/reply.h"

namespace pando::http {

class ReplyRecorder : public ReplySink {
 public:
  void send(Response response) override {
    const std::lock_guard lock(mutex_);
    response_ = std::move(response);
    changed_.notify_all();
  }
  void begin_stream(Response head) override { send(std::move(head)); }
  bool write(std::string data) override {
    const std::lock_guard lock(mutex_);
    response_->body += data;
    return true;
  }
  void end_stream() override {}

  // Waits for the answer.
  Response wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return response_.has_value(); });
    return *response_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Response> response_;
};

}  // namespace pando::http
