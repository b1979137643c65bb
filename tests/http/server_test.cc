// SPDX-License-Identifier: MIT
#include "pando/http/server.h"

#include <filesystem>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "tests/http/echo_server.h"
#include "tests/http/raw_client.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::http {
namespace {

using testing_support::error_of;
using namespace std::chrono_literals;

struct HttpServer : testing::Test {
  EchoRoutes routes;
  ServerOptions options;
};

TEST_F(HttpServer, AnswersAndKeepsTheConnection) {
  const Server server(options, routes);
  RawClient client(server.port());
  EXPECT_EQ(client.ask(get("/echo/a?b=c", "X-Test: t\r\n")).body, "GET /echo/a b=c t ");
  const Answer second = client.ask(post("/echo", "the body"));
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(second.body, "POST /echo   the body");
  EXPECT_NE(second.head.find("Date: "), std::string::npos);
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpServer, AnswersPipelinedRequestsInOrder) {
  options.io_threads = 2;
  const Server server(options, routes);
  RawClient client(server.port());
  std::string all;
  for (int i = 0; i < 50; ++i) all += post(concat("/echo/", i), std::to_string(i));
  client.send(all);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(client.receive().body, concat("POST /echo/", i, "   ", i));
  }
}

TEST_F(HttpServer, ClosesWhenAskedTo) {
  const Server server(options, routes);
  RawClient client(server.port());
  EXPECT_NE(client.ask(get("/echo", "Connection: close\r\n")).head.find("Connection: close"),
            std::string::npos);
  EXPECT_TRUE(client.is_closed_within(5000));
  RawClient old(server.port());
  EXPECT_EQ(old.ask("GET /echo HTTP/1.0\r\n\r\n").status, 200);
  EXPECT_TRUE(old.is_closed_within(5000));
  RawClient kept(server.port());
  EXPECT_EQ(kept.ask("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").status, 200);
  EXPECT_EQ(kept.ask("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").status, 200);
}

TEST_F(HttpServer, HeadHasNoBody) {
  const Server server(options, routes);
  RawClient client(server.port());
  client.send("HEAD /large HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(client.receive_head().find("Content-Length: 16777216"), std::string::npos);
  EXPECT_EQ(client.ask(get("/echo")).body, "GET /echo   ");
}

TEST_F(HttpServer, TakesChunks) {
  const Server server(options, routes);
  RawClient client(server.port());
  const std::string head = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(client.ask(head + "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n").body, "POST /echo   abcdefg");
  EXPECT_EQ(client.ask(head + "0\r\n\r\n").body, "POST /echo   ");
}

TEST_F(HttpServer, PermitsToContinue) {
  const Server server(options, routes);
  RawClient client(server.port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.receive_head(), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(client.ask("abc").body, "POST /echo   abc");
  EXPECT_EQ(client.ask(get("/echo", "Expect: 200-maybe\r\n")).status, 417);
}

TEST_F(HttpServer, AnswersLaterFromOtherThreads) {
  const Server server(options, routes);
  RawClient client(server.port());
  client.send(get("/wait"));
  std::thread other([reply = routes.take_waiting()]() mutable { reply.send({.body = "late"}); });
  other.join();
  EXPECT_EQ(client.receive().body, "late");
}

TEST_F(HttpServer, AnswersForHandlersThatDoNot) {
  const Server server(options, routes);
  RawClient client(server.port());
  EXPECT_EQ(client.ask(get("/drop")).status, 500);
  const Answer thrown = client.ask(get("/throw"));
  EXPECT_EQ(thrown.status, 500);
  EXPECT_EQ(thrown.body.find("secret"), std::string::npos);
  EXPECT_EQ(client.ask(get("/nothing")).status, 404);
  const Answer wrong = client.ask(post("/drop", ""));
  EXPECT_EQ(wrong.status, 405);
  EXPECT_NE(wrong.head.find("Allow: GET"), std::string::npos);
}

TEST_F(HttpServer, AReplyMayOutliveTheServer) {
  std::optional<Reply> reply;
  {
    const Server server(options, routes);
    RawClient client(server.port());
    client.send(get("/wait"));
    reply.emplace(routes.take_waiting());
  }
  reply->send({.body = "too late"});
}

TEST_F(HttpServer, Streams) {
  const Server server(options, routes);
  RawClient client(server.port());
  client.send(get("/stream"));
  EXPECT_NE(client.receive_head().find("text/event-stream"), std::string::npos);
  std::string all;
  while (true) {
    const std::string chunk = client.receive_chunk();
    if (chunk.empty()) break;
    all += chunk;
  }
  EXPECT_EQ(all, "data: 1\n\ndata: 2\n\n");
  EXPECT_EQ(client.ask(get("/echo")).status, 200);
}

TEST_F(HttpServer, DropsReadersOfStreamsThatAreTooSlow) {
  const Server server(options, routes);
  RawClient client(server.port());
  client.send(get("/flood"));  // its handler returns once the reader is too slow
  EXPECT_TRUE(client.is_closed_within(10'000));
}

TEST_F(HttpServer, ListensOnUnixSockets) {
  const testing_support::TempFolder folder;
  options.port = -1;
  options.unix_socket = folder.path() + "/s";
  {
    const Server server(options, routes);
    EXPECT_EQ(server.port(), -1);
    RawClient client(options.unix_socket);
    EXPECT_EQ(client.ask(get("/echo")).status, 200);
    EXPECT_SAYS(error_of<IoError>([&] { Server second(options, routes); }), "another server");
  }
  EXPECT_FALSE(std::filesystem::exists(options.unix_socket));
}

// Each socket that is listened on tries again by itself.
TEST_F(HttpServer, AcceptsOnAllSocketsAfterItWasOutOfFiles) {
  const testing_support::TempFolder folder;
  options.unix_socket = folder.path("socket");
  const Server server(options, routes);
  const int for_local = ::socket(AF_UNIX, SOCK_STREAM, 0);
  // Inherited files leave gaps between their numbers. These are filled, so that only the last
  // number is free. The first client takes it, before the server could accept anybody.
  std::vector<int> filling(64);
  for (int& file : filling) file = ::open("/dev/null", O_RDONLY);
  const int last = filling.back();
  ::close(last);
  filling.pop_back();
  rlimit usual = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit scarce = {static_cast<rlim_t>(last) + 1, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &scarce), 0);
  RawClient tcp(server.port());
  RawClient local(options.unix_socket, for_local);
  std::this_thread::sleep_for(300ms);  // several attempts to accept
  EXPECT_EQ(server.connections(), 0);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  for (const int file : filling) ::close(file);
  EXPECT_EQ(tcp.ask(get("/echo")).status, 200);
  EXPECT_EQ(local.ask(get("/echo")).status, 200);
}

TEST_F(HttpServer, TakesOverTheSocketOfADeadServer) {
  const testing_support::TempFolder folder;
  options.unix_socket = folder.path() + "/s";
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, options.unix_socket.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(dead);
  const Server server(options, routes);
  EXPECT_EQ(RawClient(options.unix_socket).ask(get("/echo")).status, 200);
}

TEST_F(HttpServer, RefusesOptionsThatCannotBe) {
  const auto refuses = [&](auto change, const char* word) {
    ServerOptions bad = options;
    change(bad);
    EXPECT_SAYS(error_of<InvalidArgument>([&] { Server server(bad, routes); }), word);
  };
  refuses([](ServerOptions& o) { o.port = 70'000; }, "70000");
  refuses([](ServerOptions& o) { o.port = -1; }, "neither");
  refuses([](ServerOptions& o) { o.io_threads = 0; }, "threads");
  refuses([](ServerOptions& o) { o.address = "nowhere"; }, "nowhere");
  refuses([](ServerOptions& o) { o.unix_socket = std::string(200, 'x'); }, "107");
  refuses([](ServerOptions& o) { o.tls.certificate = "x.pem"; }, "both");
  const Server first(options, routes);
  options.port = first.port();
  EXPECT_SAYS(error_of<IoError>([&] { Server second(options, routes); }), "another port");
  options.unix_socket = "/dev/null";
  options.port = 0;
  EXPECT_SAYS(error_of<IoError>([&] { Server third(options, routes); }), "not a socket");
}

TEST_F(HttpServer, DrainsWhatItHasAccepted) {
  Server server(options, routes);
  RawClient idle(server.port());
  RawClient busy(server.port());
  EXPECT_EQ(idle.ask(get("/echo")).status, 200);
  busy.send(get("/wait"));
  Reply reply = routes.take_waiting();
  EXPECT_FALSE(server.drain(50ms));
  EXPECT_TRUE(idle.is_closed_within(5000));
  EXPECT_FALSE(RawClient(server.port()).is_connected());
  reply.send({.body = "in time"});
  const Answer answer = busy.receive();
  EXPECT_EQ(answer.body, "in time");
  EXPECT_NE(answer.head.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(busy.is_closed_within(5000));
  EXPECT_TRUE(server.drain(5000ms));
}

TEST_F(HttpServer, DrainsWhatHasArrived) {
  Server server(options, routes);
  RawClient busy(server.port());
  RawClient idle(server.port());
  EXPECT_EQ(idle.ask(get("/echo")).status, 200);
  busy.send(get("/sleep"));  // keeps the I/O thread busy, so that it reads nothing
  std::this_thread::sleep_for(50ms);
  idle.send(get("/echo"));
  EXPECT_TRUE(server.drain(5000ms));
  EXPECT_EQ(busy.receive().status, 200);
  EXPECT_EQ(idle.receive().status, 200);
}

TEST_F(HttpServer, RequiresTheToken) {
  options.token = "open sesame";
  options.public_paths = {"/echo/public"};
  const Server server(options, routes);
  const auto status = [&](std::string_view path, std::string_view headers) {
    return RawClient(server.port()).ask(get(path, headers)).status;
  };
  EXPECT_EQ(status("/echo", ""), 401);
  EXPECT_EQ(status("/echo", "Authorization: Bearer open sesam\r\n"), 401);
  EXPECT_EQ(status("/echo", "Authorization: Bearer open sesame!\r\n"), 401);
  EXPECT_EQ(status("/echo", "Authorization: Basic open sesame\r\n"), 401);
  EXPECT_EQ(status("/echo", "Authorization: Bearer \r\n"), 401);
  EXPECT_EQ(status("/echo", "Authorization: Bearer open sesame\r\n"), 200);
  EXPECT_EQ(status("/echo", "authorization: bearer open sesame\r\n"), 200);
  EXPECT_EQ(status("/echo/public", ""), 200);
  EXPECT_EQ(status("/echo/public/", ""), 401);
}

TEST_F(HttpServer, LogsRequests) {
  std::mutex mutex;
  std::vector<std::string> lines;
  options.access_log = [&](const AccessRecord& record) {
    const std::lock_guard lock(mutex);
    lines.push_back(concat(record.method, " ", record.target, " ", record.agent, " ", record.status,
                           " ", record.request_bytes, " ", record.response_bytes));
  };
  {
    const Server server(options, routes);
    RawClient client(server.port());
    client.ask(post("/echo?q", "abc", "User-Agent: me\r\n"));
    client.ask(get("/nothing"));
    client.ask("nonsense\r\n\r\n");
  }
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "POST /echo?q me 200 3 17");
  EXPECT_TRUE(lines[1].starts_with("GET /nothing  404 0")) << lines[1];
  EXPECT_NE(lines[2].find(" 400 "), std::string::npos) << lines[2];
}

}  // namespace
}  // namespace pando::http
