// What clients of HTTP/2 get that are broken, slow or hostile.
// SPDX-License-Identifier: MIT
#include <thread>

#include <gtest/gtest.h>

#include "pando/http/h2_server.h"
#include "tests/http/echo_calls.h"
#include "tests/http/h2_client.h"

namespace pando::http {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kRefused = 7;
constexpr uint32_t kCancelled = 8;
constexpr uint32_t kCalm = 11;

struct H2Limit : testing::Test {
  void start(const H2Limits& limits = {}) {
    H2ServerOptions options;
    options.limits = limits;
    server = std::make_unique<H2Server>(options, calls);
  }
  // A new client is answered.
  void expect_well() const {
    H2Client client(server->port());
    client.call(1, "/echo");
    client.send(H2Frame::data, H2Frame::kEnd, 1, "well");
    EXPECT_EQ(client.receive().type, H2Frame::headers);
    EXPECT_EQ(client.receive().payload, "well");
  }
  EchoCalls calls;
  std::unique_ptr<H2Server> server;
};

TEST_F(H2Limit, CallsOfAllConnectionsTogether) {
  start({.calls = 2});
  H2Client first(server->port());
  H2Client second(server->port());
  first.call(1, "/never");
  first.call(3, "/never");
  while (server->open_calls() < 2) std::this_thread::yield();
  second.call(1, "/echo", H2Frame::kEnd);
  H2Frame frame = second.receive();
  EXPECT_EQ(frame.type, H2Frame::reset);
  EXPECT_EQ(frame.payload, number_bytes(kRefused));
  first.send(H2Frame::reset, 0, 1, number_bytes(kCancelled));
  while (server->open_calls() > 1) std::this_thread::yield();
  second.call(3, "/echo", H2Frame::kEnd);
  EXPECT_EQ(second.receive().type, H2Frame::headers);
}

TEST_F(H2Limit, AnswersThatWaitTogether) {
  start({.waiting_bytes = 150'000});
  H2Client client(server->port());
  client.call(1, "/large", H2Frame::kEnd);
  for (size_t taken = 0; taken < 65'535;) {  // what fits into the windows
    const H2Frame frame = client.receive();
    ASSERT_NE(frame.type, H2Frame::none);
    if (frame.type == H2Frame::data) taken += frame.payload.size();
  }
  client.call(3, "/large", H2Frame::kEnd);
  EXPECT_EQ(client.receive().type, H2Frame::headers);
  client.call(5, "/large", H2Frame::kEnd);
  const H2Frame frame = client.receive();
  EXPECT_EQ(frame.type, H2Frame::reset);
  EXPECT_EQ(frame.stream, 5U);
  EXPECT_EQ(frame.payload, number_bytes(kCalm));
  expect_well();
}

TEST_F(H2Limit, StreamsOfAConnection) {
  start({.streams = 2});
  H2Client client(server->port());
  for (uint32_t stream = 1; stream < 7; stream += 2) client.call(stream, "/never");
  const H2Frame frame = client.receive();
  EXPECT_EQ(frame.type, H2Frame::reset);
  EXPECT_EQ(frame.stream, 5U);
  EXPECT_EQ(frame.payload, number_bytes(kRefused));
}

// It opens the window of its call byte by byte.
TEST_F(H2Limit, AnswersThatAreTakenSlowlyAreReset) {
  start({.write_timeout = 500ms});
  H2Client client(server->port());
  client.send(H2Frame::settings, 0, 0, setting_bytes(kInitialWindow, 0));
  client.call(1, "/large", H2Frame::kEnd);
  std::jthread trickle([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && client.send(H2Frame::window, 0, 1, number_bytes(1))) {
      std::this_thread::sleep_for(20ms);
    }
  });
  size_t taken = 0;
  H2Frame frame = client.receive();
  while (frame.type == H2Frame::headers || frame.type == H2Frame::data) {
    if (frame.type == H2Frame::data) taken += frame.payload.size();
    if (taken > 1000) break;
    frame = client.receive();
  }
  EXPECT_EQ(frame.type, H2Frame::reset) << taken;
  EXPECT_GT(taken, 0U);
  EXPECT_EQ(server->connections(), 1);  // other calls of it go on
}

// The same with the window of the connection.
TEST_F(H2Limit, ConnectionsThatTakeSlowlyAreClosed) {
  start({.write_timeout = 500ms});
  H2Client client(server->port());
  client.send(H2Frame::settings, 0, 0, setting_bytes(kInitialWindow, kLargestWindow));
  client.call(1, "/large", H2Frame::kEnd);
  bool is_open = true;
  for (int i = 0; i < 250 && is_open; ++i) {
    is_open = client.send(H2Frame::window, 0, 0, number_bytes(1));
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_FALSE(is_open);
}

TEST_F(H2Limit, DropsTheSlowestConnectionForANewOne) {
  start({.connections = 2});
  H2Client slowest(server->port());  // has its answer and does not take it
  slowest.call(1, "/large", H2Frame::kEnd);
  EXPECT_EQ(slowest.receive().type, H2Frame::headers);
  H2Client slow(server->port());  // is half of a call
  slow.call(1, "/echo");
  while (server->open_calls() < 2) std::this_thread::yield();
  expect_well();
  EXPECT_TRUE(slowest.raw().is_closed_within(5000));
  slow.send(H2Frame::data, H2Frame::kEnd, 1, "abc");
  EXPECT_EQ(slow.receive().type, H2Frame::headers);
  EXPECT_EQ(slow.receive().payload, "abc");
}

TEST_F(H2Limit, ConnectionsThatAreOwedAnswersStay) {
  start({.connections = 1});
  H2Client busy(server->port());
  busy.call(1, "/huge", H2Frame::kEnd);
  while (!calls.has_huge()) std::this_thread::yield();
  H2Client other(server->port());
  EXPECT_TRUE(other.raw().is_closed_within(5000));
  calls.answer_huge();
  EXPECT_EQ(busy.receive().type, H2Frame::headers);
}

// A client that is busy with a large answer may let a ping wait.
TEST_F(H2Limit, LargeAnswersMayDelayPings) {
  start({.ping_after = 100ms, .ping_timeout = 300ms});
  H2Client client(server->port());
  client.open_windows();
  client.call(1, "/huge", H2Frame::kEnd);
  EXPECT_EQ(client.receive().type, H2Frame::ping);
  calls.answer_huge();
  std::this_thread::sleep_for(1s);
  size_t taken = 0;
  while (taken < 32 << 20) {
    const H2Frame frame = client.receive();
    if (frame.type == H2Frame::none) break;
    if (frame.type == H2Frame::data) taken += frame.payload.size();
  }
  EXPECT_EQ(taken, 32U << 20);
}

// One header of 4,000 bytes, which the client's table then names by one byte each.
std::string bomb(size_t repetitions) {
  std::string block =
      H2Client::head(
          {{":method", "POST"}, {":scheme", "http"}, {":path", "/echo"}, {":authority", "a"}}) +
      "\x40" + H2Client::head({{"x", std::string(4000 - 1, 'y')}}).substr(1);
  return block + std::string(repetitions, '\xbe');
}

TEST_F(H2Limit, HeadersThatUnpackToMuchEndTheConnection) {
  start();
  H2Client large(server->port());  // what is only too large is answered
  large.send(H2Frame::headers, H2Frame::kEndOfHead | H2Frame::kEnd, 1, bomb(10));
  EXPECT_EQ(large.headers_of(large.receive()).front().second, "431");
  H2Client client(server->port());
  client.send(H2Frame::headers, H2Frame::kEndOfHead | H2Frame::kEnd, 1, bomb(1000));
  EXPECT_TRUE(client.raw().is_closed_within(5000));
  EXPECT_EQ(server->open_calls(), 0);
  expect_well();
}

TEST_F(H2Limit, TrailersAreLimitedToo) {
  start();
  H2Client client(server->port());
  client.call(1, "/echo");
  client.send(H2Frame::headers, H2Frame::kEndOfHead | H2Frame::kEnd, 1,
              H2Client::head({{"x", "y"}}));
  EXPECT_EQ(client.receive().type, H2Frame::headers);
  client.call(3, "/echo");
  const std::string first = "\x40" + H2Client::head({{"x", std::string(3999, 'y')}}).substr(1);
  client.send(H2Frame::headers, H2Frame::kEndOfHead | H2Frame::kEnd, 3,
              first + std::string(1000, '\xbe'));
  EXPECT_TRUE(client.raw().is_closed_within(5000));
  expect_well();
}

TEST_F(H2Limit, HeadsThatNeverEndAreClosed) {
  start();
  H2Client client(server->port());
  client.send(H2Frame::headers, 0, 1, H2Client::head({{":method", "POST"}}));
  const std::string more = H2Client::head({{"x", "y"}});
  bool is_open = true;
  for (int i = 0; i < 100'000 && is_open; ++i) {
    is_open = client.send(H2Frame::continuation, 0, 1, more);
  }
  EXPECT_TRUE(client.raw().is_closed_within(5000));
  expect_well();
}

TEST_F(H2Limit, CallsThatAreCancelledAtOnceEndTheConnection) {
  start();
  H2Client client(server->port());
  bool is_open = true;
  for (uint32_t stream = 1; stream < 100'000 && is_open; stream += 2) {
    is_open =
        client.raw().send(H2Client::call_frame(stream, "/never", H2Frame::kEnd) +
                          H2Client::frame(H2Frame::reset, 0, stream, number_bytes(kCancelled)));
  }
  EXPECT_TRUE(client.raw().is_closed_within(5000));
  EXPECT_EQ(server->open_calls(), 0);
  expect_well();
}

struct H2Flood : H2Limit {
  // Sends the frame until the connection ends.
  void expect_closed(uint8_t type, uint32_t stream, std::string_view payload) {
    start({.idle_frames = 1000});
    H2Client client(server->port());
    client.call(1, "/never");
    const std::string frame = H2Client::frame(type, 0, stream, payload);
    bool is_open = true;
    for (int i = 0; i < 200'000 && is_open; ++i) is_open = client.raw().send(frame);
    EXPECT_TRUE(client.raw().is_closed_within(5000));
    expect_well();
  }
};

TEST_F(H2Flood, OfPings) { expect_closed(H2Frame::ping, 0, "12345678"); }
TEST_F(H2Flood, OfSettings) { expect_closed(H2Frame::settings, 0, ""); }
TEST_F(H2Flood, OfWindows) { expect_closed(H2Frame::window, 0, number_bytes(1)); }

TEST_F(H2Limit, ManyWindowUpdatesMayComeWithAnswers) {
  start({.idle_frames = 100});
  H2Client client(server->port());
  for (uint32_t stream = 1; stream < 2000; stream += 2) {
    client.call(stream, "/refuse", H2Frame::kEnd);
    client.send(H2Frame::window, 0, 0, number_bytes(1));
    EXPECT_EQ(client.receive().type, H2Frame::headers);
  }
}

}  // namespace
}  // namespace pando::http
