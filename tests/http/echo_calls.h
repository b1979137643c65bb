// Calls over HTTP/2 for tests of servers and clients.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "pando/http/h2_server.h"

namespace pando::http {

// Answers by path: "/echo" all bytes at the end, "/large" 100,000 bytes, "/stream" each part at
// once, "/authority" whom the client believes to ask, "/refuse" without a body, "/never" not at
// all, "/huge" 32 MB after answer_huge().
class EchoCalls : public CallService {
 public:
  std::shared_ptr<CallHandler> begin(const CallHead& head,
                                     std::shared_ptr<CallSink> sink) override {
    if (head.path == "/refuse") {
      sink->send({.is_last = true, .trailers = {{"grpc-status", "5"}}});
      return nullptr;
    }
    if (head.path == "/authority") {
      sink->send({.data = std::string(head.header(":authority")), .is_last = true});
      return nullptr;
    }
    return std::make_shared<Echo>(std::string(head.path), std::move(sink), *this);
  }

  void answer_huge() {
    const std::lock_guard lock(mutex_);
    huge_->send({.data = std::string(32 << 20, 'x'), .is_last = true});
    (*huge_->waker())();
    huge_.reset();
  }
  bool has_huge() {
    const std::lock_guard lock(mutex_);
    return huge_ != nullptr;
  }
  int over() {
    const std::lock_guard lock(mutex_);
    return over_;
  }

 private:
  class Echo : public CallHandler {
   public:
    Echo(std::string path, std::shared_ptr<CallSink> sink, EchoCalls& calls)
        : path_(std::move(path)), sink_(std::move(sink)), calls_(calls) {}
    void on_data(std::string_view bytes) override {
      if (path_ == "/throw") throw std::runtime_error("no");
      if (path_ == "/stream") return sink_->send({.data = std::string(bytes)});
      received_ += bytes;
    }
    void on_end() override {
      if (path_ == "/never") return;
      if (path_ == "/huge") {
        const std::lock_guard lock(calls_.mutex_);
        calls_.huge_ = sink_;
        return;
      }
      if (path_ == "/large") received_ = std::string(100'000, 'x');
      // From another thread, as the model server does.
      if (path_ == "/stream") received_.clear();
      std::thread([&] {
        sink_->send({.data = received_, .is_last = true, .trailers = {{"grpc-status", "0"}}});
        (*sink_->waker())();
      }).join();
    }
    void on_late(Clock::time_point) override {}
    void on_over() override {
      const std::lock_guard lock(calls_.mutex_);
      ++calls_.over_;
    }
    bool may_idle() const override { return path_ == "/stream"; }

   private:
    const std::string path_;
    const std::shared_ptr<CallSink> sink_;
    EchoCalls& calls_;
    std::string received_;
  };

  std::mutex mutex_;
  int over_ = 0;
  std::shared_ptr<CallSink> huge_;
};

}  // namespace pando::http
