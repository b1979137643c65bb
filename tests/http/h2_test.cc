#include <gtest/gtest.h>

#include "pando/http/h2_server.h"
#include "tests/http/echo_calls.h"
#include "tests/http/h2_client.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::http {
namespace {

using namespace std::chrono_literals;

struct H2 : testing::Test {
  void start(const H2Limits& limits = {}) {
    H2ServerOptions options;
    options.limits = limits;
    options.answer_headers = {{"content-type", "application/grpc"}};
    server = std::make_unique<H2Server>(options, calls);
  }
  EchoCalls calls;
  std::unique_ptr<H2Server> server;
};

TEST_F(H2, AnswersCallsWithBytesAndTrailers) {
  start();
  H2Client client(server->port());
  for (uint32_t stream = 1; stream < 7; stream += 2) {
    client.call(stream, "/echo");
    client.send(H2Frame::data, 0, stream, "abc");
    client.send(H2Frame::data, H2Frame::kEnd, stream, "def");
    H2Frame frame = client.receive();
    EXPECT_EQ(frame.type, H2Frame::headers);
    EXPECT_EQ(frame.flags, H2Frame::kEndOfHead);
    frame = client.receive();
    EXPECT_EQ(frame.type, H2Frame::data);
    EXPECT_EQ(frame.stream, stream);
    EXPECT_EQ(frame.payload, "abcdef");
    frame = client.receive();
    EXPECT_EQ(frame.type, H2Frame::headers);
    EXPECT_EQ(frame.flags, H2Frame::kEndOfHead | H2Frame::kEnd);
  }
  EXPECT_EQ(server->open_calls(), 0);
  EXPECT_EQ(server->connections(), 1);
}

TEST_F(H2, RefusalsAreOneFrameAndStopTheClient) {
  start();
  H2Client client(server->port());
  client.call(1, "/refuse");
  H2Frame frame = client.receive();
  EXPECT_EQ(frame.type, H2Frame::headers);
  EXPECT_EQ(frame.flags, H2Frame::kEndOfHead | H2Frame::kEnd);
  frame = client.receive();
  EXPECT_EQ(frame.type, H2Frame::reset);
  EXPECT_EQ(frame.payload, number_bytes(0));  // not an error
}

TEST_F(H2, StreamsAnswerWhileTheClientSends) {
  start();
  H2Client client(server->port());
  client.call(1, "/stream");
  for (const char* const part : {"one", "two"}) {
    client.send(H2Frame::data, 0, 1, part);
    H2Frame frame = client.receive();
    if (frame.type == H2Frame::headers) frame = client.receive();
    EXPECT_EQ(frame.payload, part);
  }
  client.send(H2Frame::data, H2Frame::kEnd, 1, "");
  const H2Frame frame = client.receive();
  EXPECT_EQ(frame.type, H2Frame::headers);
  EXPECT_EQ(frame.flags, H2Frame::kEndOfHead | H2Frame::kEnd);
}

TEST_F(H2, LargeAnswersWaitForTheWindow) {
  start();
  H2Client client(server->port());
  client.call(1, "/large", H2Frame::kEnd);
  EXPECT_EQ(client.receive().type, H2Frame::headers);
  size_t got = 0;
  const auto receive = [&](size_t most) {
    while (got < most) {
      const H2Frame frame = client.receive();
      ASSERT_EQ(frame.type, H2Frame::data);
      got += frame.payload.size();
    }
  };
  receive(65'535);
  EXPECT_EQ(got, 65'535U);  // the window of a client that says nothing
  client.send(H2Frame::window, 0, 0, number_bytes(1 << 20));
  client.send(H2Frame::window, 0, 1, number_bytes(1 << 20));
  receive(100'000);
  EXPECT_EQ(client.receive().type, H2Frame::headers);
}

TEST_F(H2, ExceptionsAndCancelledCallsEndAlone) {
  start();
  H2Client client(server->port());
  client.call(1, "/throw");
  client.send(H2Frame::data, 0, 1, "abc");
  EXPECT_EQ(client.receive().type, H2Frame::reset);
  client.call(3, "/never", H2Frame::kEnd);
  client.send(H2Frame::reset, 0, 3, number_bytes(8));
  client.call(5, "/echo", H2Frame::kEnd);
  const H2Frame frame = client.receive();
  EXPECT_EQ(frame.stream, 5U);
  EXPECT_EQ(frame.flags, H2Frame::kEndOfHead | H2Frame::kEnd);  // there was nothing to echo
  EXPECT_EQ(calls.over(), 3);
}

TEST_F(H2, HeadsHaveLimits) {
  start({.header_bytes = 1000, .headers = 10});
  H2Client client(server->port());
  const std::string common = H2Client::head(
      {{":method", "POST"}, {":scheme", "http"}, {":path", "/echo"}, {":authority", "a"}});
  client.send(H2Frame::headers, H2Frame::kEndOfHead | H2Frame::kEnd, 1,
              common + H2Client::head({{"x", std::string(2000, 'y')}}));
  H2Frame frame = client.receive();
  EXPECT_EQ(frame.type, H2Frame::headers);
  EXPECT_NE(frame.payload.find("431"), std::string::npos);
  std::string many = common;
  for (int i = 0; i < 20; ++i) many += H2Client::head({{"x", "y"}});
  client.send(H2Frame::headers, H2Frame::kEndOfHead | H2Frame::kEnd, 3, many);
  frame = client.receive();
  EXPECT_EQ(frame.flags, H2Frame::kEndOfHead | H2Frame::kEnd);
}

TEST_F(H2, ClosesSlowAndSilentClients) {
  start(
      {.header_timeout = 300ms, .body_timeout = 300ms, .ping_after = 300ms, .ping_timeout = 300ms});
  H2Client silent(server->port(), false);
  EXPECT_TRUE(silent.raw().is_closed_within(5000));
  H2Client half(server->port());  // begins a head and does not end it
  half.send(H2Frame::headers, 0, 1, H2Client::head({{":method", "POST"}}));
  EXPECT_TRUE(half.raw().is_closed_within(5000));
  H2Client late(server->port());
  late.call(1, "/echo");
  H2Frame frame = late.receive();
  while (frame.type == H2Frame::ping) frame = late.receive();
  EXPECT_EQ(frame.type, H2Frame::reset);
  EXPECT_TRUE(late.raw().is_closed_within(5000));  // it answers no ping
}

TEST_F(H2, ClientsThatTakeNoAnswersAreReset) {
  start({.write_timeout = 300ms});
  H2Client client(server->port());
  client.call(1, "/large", H2Frame::kEnd);
  H2Frame frame = client.receive();
  while (frame.type != H2Frame::reset && frame.type != H2Frame::none) frame = client.receive();
  EXPECT_EQ(frame.type, H2Frame::reset);
}

TEST_F(H2, FloodsAndOtherProtocolsAreClosed) {
  start({.idle_frames = 1000});
  H2Client http1(server->port(), false);
  http1.raw().send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(http1.raw().is_closed_within(5000));
  H2Client flood(server->port());
  flood.call(1, "/never");
  bool is_open = true;
  for (int i = 0; i < 200'000 && is_open; ++i) is_open = flood.send(H2Frame::data, 0, 1, "");
  EXPECT_TRUE(flood.raw().is_closed_within(5000));
}

TEST_F(H2, DrainsWhenCallsAreAnswered) {
  start();
  H2Client idle(server->port());
  H2Client busy(server->port());
  busy.call(1, "/echo");
  busy.send(H2Frame::data, 0, 1, "abc");
  while (server->open_calls() == 0 || server->connections() < 2) std::this_thread::yield();
  std::thread client([&] {
    H2Frame frame = busy.receive();
    EXPECT_EQ(frame.type, H2Frame::goaway);
    EXPECT_EQ(frame.payload.substr(0, 4), number_bytes(0x7FFFFFFF));  // all are
    frame = busy.receive();
    EXPECT_EQ(frame.type, H2Frame::ping);
    busy.send(H2Frame::ping, H2Frame::kEnd, 0, frame.payload);
    frame = busy.receive();
    EXPECT_EQ(frame.type, H2Frame::goaway);
    EXPECT_EQ(frame.payload.substr(0, 4), number_bytes(1));  // the last call that is answered
    busy.send(H2Frame::data, H2Frame::kEnd, 1, "");
    EXPECT_EQ(busy.receive().type, H2Frame::headers);
    EXPECT_EQ(busy.receive().payload, "abc");
    EXPECT_EQ(busy.receive().type, H2Frame::headers);
    EXPECT_TRUE(busy.raw().is_closed_within(5000));
  });
  EXPECT_TRUE(server->drain(20s));
  client.join();
  EXPECT_EQ(server->connections(), 0);
}

TEST_F(H2, TellsWhyItCannotListen) {
  start();
  H2ServerOptions options;
  options.protocol = "gRPC";
  options.port = server->port();
  EXPECT_SAYS(testing_support::error_of<IoError>([&] { H2Server(options, calls); }), "gRPC",
              "cannot listen");
  options.address = "nowhere";
  EXPECT_SAYS(testing_support::error_of<InvalidArgument>([&] { H2Server(options, calls); }),
              "IP address");
}

}  // namespace
}  // namespace pando::http
