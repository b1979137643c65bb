// Sends any bytes to a connection of HTTP/2, without a network and on one thread. The bits of the
// first byte say how: whether the input is raw bytes or frames whose lengths are right, whether the
// client takes answers at once, and whether time passes. However the input goes on, nothing of the
// calls may be left when the connection is closed.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "pando/base/error.h"
#include "pando/http/h2_connection_impl.h"
#include "tests/fuzz/targets.h"

namespace pando::fuzz {
namespace {

using http::CallSink;
using http::Clock;
using http::H2Connection;
using http::H2Shared;
using http::IoThread;

enum Way : uint8_t { makes_frames = 1, takes_slowly = 2, waits = 4, in_parts = 8 };

// Answers by path, at once: "/l" with much, "/s" each part, "/n" never, others with what they got.
class Calls : public http::CallService {
 public:
  std::shared_ptr<http::CallHandler> begin(const http::CallHead& head,
                                           std::shared_ptr<CallSink> sink) override {
    if (head.path.empty()) {
      sink->send({.is_last = true, .status = 405});
      return nullptr;
    }
    return std::make_shared<Handler>(std::string(head.path), std::move(sink));
  }

 private:
  class Handler : public http::CallHandler {
   public:
    Handler(std::string path, std::shared_ptr<CallSink> sink)
        : path_(std::move(path)), sink_(std::move(sink)) {}
    void on_data(std::string_view bytes) override {
      PANDO_CHECK(!is_over_, "data of a call that is over");
      if (path_ == "/t") throw std::runtime_error("no");
      if (path_ == "/s") return sink_->send({.data = std::string(bytes)});
      received_ += bytes;
    }
    void on_end() override {
      PANDO_CHECK(!is_over_, "the end of a call that is over");
      if (path_ == "/n") return;
      if (path_ == "/l") received_.resize(100'000);
      sink_->send({.data = std::move(received_), .is_last = true, .trailers = {{"x", "y"}}});
    }
    void on_late(Clock::time_point) override {
      if (path_ == "/n") sink_->fail();
    }
    void on_over() override { is_over_ = true; }
    bool may_idle() const override { return path_ == "/s"; }

   private:
    const std::string path_;
    const std::shared_ptr<CallSink> sink_;
    std::string received_;
    bool is_over_ = false;
  };
};

class FuzzConnection : public H2Connection {
 public:
  FuzzConnection(std::shared_ptr<IoThread> thread, std::shared_ptr<H2Shared> shared, bool is_slow)
      : H2Connection(thread, std::move(shared), "fuzz"),
        socket_(thread->context()),
        is_slow_(is_slow) {}

  void feed(std::string_view bytes) {
    while (!bytes.empty()) {
      finish_write();
      if (to_ == nullptr) return;  // closed
      char* const to = std::exchange(to_, nullptr);
      const size_t count = std::min(bytes.size(), room_);
      std::memcpy(to, bytes.data(), count);
      bytes.remove_prefix(count);
      on_read({}, count);
    }
  }

 protected:
  void read_some(char* data, size_t bytes) override {
    to_ = data;
    room_ = bytes;
  }
  size_t write_now() override { return is_slow_ ? output_.size() / 2 : output_.size(); }
  void write_rest() override { is_writing_ = true; }
  http::Socket& socket() override { return socket_; }

 private:
  void finish_write() {
    while (std::exchange(is_writing_, false)) {
      note_written(output_.size() - written_);
      on_written({});
    }
  }

  http::Socket socket_;
  const bool is_slow_;
  char* to_ = nullptr;
  size_t room_ = 0;
  bool is_writing_ = false;
};

// Frames of type, flags, stream and length, one byte each, and so many bytes.
std::string frames_of(std::string_view bytes) {
  constexpr size_t kHead = 4;
  std::string frames;
  while (bytes.size() >= kHead) {
    const size_t length = std::min<size_t>(static_cast<uint8_t>(bytes[3]), bytes.size() - kHead);
    frames +=
        {'\0', '\0', static_cast<char>(length), bytes[0], bytes[1], '\0', '\0', '\0', bytes[2]};
    frames += bytes.substr(kHead, length);
    bytes.remove_prefix(kHead + length);
  }
  return frames;
}

void talk(FuzzConnection& connection, uint8_t way, std::string_view bytes) {
  const std::string input = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
                            ((way & makes_frames) != 0 ? frames_of(bytes) : std::string(bytes));
  const size_t part = (way & in_parts) != 0 ? 7 : input.size();
  connection.start();
  Clock::time_point now = Clock::now();
  for (size_t place = 0; place < input.size(); place += part) {
    connection.feed(std::string_view(input).substr(place, part));
    if ((way & waits) != 0) connection.check_time(now += std::chrono::seconds(1));
  }
  connection.check_time(now);
  PANDO_CHECK(!connection.waits_for_client() || connection.since() <= Clock::now(), "no time");
}

}  // namespace

void h2_frames(Input input) {
  if (input.empty()) return;
  static Calls calls;
  const std::string_view bytes(reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1);
  const auto shared = std::make_shared<H2Shared>();
  shared->service = &calls;
  shared->options.limits.streams = 16;
  shared->options.limits.waiting_bytes = 1 << 20;
  const auto thread = std::make_shared<IoThread>(1, nullptr);
  auto connection =
      std::make_shared<FuzzConnection>(thread, shared, (input[0] & takes_slowly) != 0);
  boost::asio::post(thread->context(), [&] { talk(*connection, input[0], bytes); });
  thread->context().poll();
  connection->close();
  thread->context().restart();
  thread->context().poll();
  const std::weak_ptr<FuzzConnection> weak = connection;
  connection.reset();
  PANDO_CHECK(weak.expired(), "the connection is not forgotten");
  PANDO_CHECK(shared->connections == 0 && shared->open_calls == 0 && shared->waiting_bytes == 0,
              shared->connections.load(), " connections, ", shared->open_calls.load(),
              " calls and ", shared->waiting_bytes.load(), " bytes are left");
}

}  // namespace pando::fuzz
