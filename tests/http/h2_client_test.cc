#include "pando/http/h2_client.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/http/echo_calls.h"
#include "tests/support/expect_error.h"

namespace pando::http {
namespace {

using namespace std::chrono_literals;
using Kind = CallAnswer::Kind;

struct H2Calls : testing::Test {
  CallAnswer call(const std::string& path, std::string_view body, Clock::duration patience = 20s) {
    return client->call(path, {{"te", "trailers"}}, body, Clock::now() + patience);
  }
  void start(int port = 0) {
    H2ServerOptions options;
    options.port = port;
    options.answer_headers = {{"content-type", "application/grpc"}};
    server = std::make_unique<H2Server>(options, calls);
    if (client == nullptr) client = std::make_unique<CallClient>("127.0.0.1", server->port());
  }
  EchoCalls calls;
  std::unique_ptr<H2Server> server;
  std::unique_ptr<CallClient> client;
};

TEST_F(H2Calls, WaitsForBytesAndTrailers) {
  start();
  const std::string large(3 << 20, 'x');  // more than the windows of both sides
  for (const std::string_view body : {std::string_view("abc"), std::string_view(large)}) {
    const CallAnswer answer = call("/echo", body);
    EXPECT_EQ(answer.kind, Kind::complete) << answer.problem;
    EXPECT_EQ(answer.body, body);
    ASSERT_NE(answer.header("grpc-status"), nullptr);
    EXPECT_EQ(*answer.header("grpc-status"), "0");
    EXPECT_EQ(*answer.header(":status"), "200");
    EXPECT_EQ(answer.header("x"), nullptr);
  }
  EXPECT_EQ(*call("/refuse", "abc").header("grpc-status"), "5");
  EXPECT_EQ(server->connections(), 1);
}

TEST_F(H2Calls, NamesTheServer) {
  start();
  EXPECT_EQ(call("/authority", "").body, concat("127.0.0.1:", server->port()));
  H2ServerOptions options;
  options.address = "::1";
  try {
    server = std::make_unique<H2Server>(options, calls);
  } catch (const IoError&) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  client = std::make_unique<CallClient>("::1", server->port());
  EXPECT_EQ(call("/authority", "").body, concat("[::1]:", server->port()));
}

TEST_F(H2Calls, GivesUpAndGoesOn) {
  start();
  EXPECT_EQ(call("/never", "abc", 50ms).kind, Kind::late);
  EXPECT_EQ(call("/echo", "abc").body, "abc");
  const CallAnswer reset = call("/throw", "abc");
  EXPECT_EQ(reset.kind, Kind::broken);
  EXPECT_SAYS(reset.problem, "reset the call");
  EXPECT_EQ(call("/echo", "abc").body, "abc");
}

TEST_F(H2Calls, ConnectsAgain) {
  start();
  const int port = server->port();
  EXPECT_EQ(call("/echo", "abc").body, "abc");
  server.reset();
  EXPECT_EQ(call("/echo", "abc").kind, Kind::broken);
  const CallAnswer refused = call("/echo", "abc");
  EXPECT_EQ(refused.kind, Kind::broken);
  EXPECT_SAYS(refused.problem, "cannot connect");
  start(port);
  EXPECT_EQ(call("/echo", "abc").body, "abc");
  CallClient nowhere("no.such.host.invalid", port);
  EXPECT_SAYS(nowhere.call("/echo", {}, "", Clock::now() + 1s).problem, "cannot find");
}

}  // namespace
}  // namespace pando::http
