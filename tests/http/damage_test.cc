// Sends damaged requests to a server, which must go on answering good ones.
// SPDX-License-Identifier: MIT
#include <random>

#include <gtest/gtest.h>

#include "tests/http/echo_server.h"
#include "tests/http/raw_client.h"

namespace pando::http {
namespace {

const std::string kGoodRequests[] = {
    get("/echo/a?b=c", "X-Test: t\r\nAccept: */*\r\n"),
    post("/echo", "the body of a request"),
    "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
    "chunked\r\n\r\n3\r\nabc\r\n4;e=1\r\ndefg\r\n0\r\n"
    "Trailer: x\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc",
    "GET http://x/echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    get("/stream") + post("/nothing", "x") + get("/drop"),
};

std::string damaged(std::string text, std::mt19937& random) {
  const auto place = [&] { return random() % (text.size() + 1); };
  for (unsigned i = 0; i <= random() % 3; ++i) {
    switch (random() % 6) {
      case 0: text[std::min<size_t>(place(), text.size() - 1)] = static_cast<char>(random()); break;
      case 1: text.insert(place(), 1, "\r\n\0:;, 0x9\xff"[random() % 11]); break;
      case 2: text.resize(std::max<size_t>(1, place())); break;
      case 3: text.insert(place(), text.substr(place() % text.size(), random() % 40)); break;
      case 4: text.erase(place() % text.size(), 1 + random() % 5); break;
      default: text.insert(place(), std::string(random() % 3000, 'a')); break;
    }
    if (text.empty()) text = " ";
  }
  return text;
}

TEST(HttpDamage, ChangesNothingForOthers) {
  EchoRoutes routes;
  ServerOptions options;
  options.io_threads = 2;
  options.limits.connections = 64;
  const Server server(options, routes);
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    const RawClient client(server.port());
    client.send(damaged(kGoodRequests[random() % std::size(kGoodRequests)], random));
    if (i % 100 != 0) continue;
    RawClient good(server.port());
    ASSERT_EQ(good.ask(post("/echo", "well")).body, "POST /echo   well");
  }
}

}  // namespace
}  // namespace pando::http
