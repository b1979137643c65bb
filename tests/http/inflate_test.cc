// SPDX-License-Identifier: MIT
#include "pando/http/inflate.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/http/echo_server.h"
#include "tests/http/raw_client.h"

namespace pando::http {
namespace {

std::string gzipped(std::string_view text, int window = 15 + 16) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

const InflateLimits kGenerous = {1 << 20, 1000};

TEST(HttpInflate, UnpacksGzipAndZlib) {
  std::string out;
  EXPECT_EQ(inflate_body(gzipped("hello"), kGenerous, out), InflateResult::done);
  EXPECT_EQ(out, "hello");
  EXPECT_EQ(inflate_body(gzipped("hello", 15), kGenerous, out), InflateResult::done);
  EXPECT_EQ(out, "hello");
  EXPECT_EQ(inflate_body(gzipped("two ") + gzipped("members"), kGenerous, out),
            InflateResult::done);
  EXPECT_EQ(out, "two members");
  const std::string large(300'000, 'z');
  EXPECT_EQ(inflate_body(gzipped(large), {1 << 20, 10'000}, out), InflateResult::done);
  EXPECT_EQ(out, large);
}

TEST(HttpInflate, RefusesWhatIsBroken) {
  std::string out;
  const std::string packed = gzipped("hello, hello, hello");
  for (size_t length = 0; length < packed.size(); ++length) {
    EXPECT_EQ(inflate_body(packed.substr(0, length), kGenerous, out), InflateResult::broken);
  }
  EXPECT_EQ(inflate_body("no gzip at all", kGenerous, out), InflateResult::broken);
  EXPECT_EQ(inflate_body(packed + "rest", kGenerous, out), InflateResult::broken);
}

TEST(HttpInflate, RefusesBombs) {
  std::string out;
  const std::string bomb = gzipped(std::string(10 << 20, '\0'));
  EXPECT_EQ(inflate_body(bomb, {1 << 20, 1e9}, out), InflateResult::too_large);
  EXPECT_EQ(inflate_body(bomb, {1 << 30, 100}, out), InflateResult::too_large);
  EXPECT_LE(out.size(), bomb.size() * 101);
}

TEST(HttpInflate, ServesPackedBodies) {
  EchoRoutes routes;
  const Server server({}, routes);
  RawClient client(server.port());
  EXPECT_EQ(client.ask(post("/echo", gzipped("packed"), "Content-Encoding: gzip\r\n")).body,
            "POST /echo   packed");
  EXPECT_EQ(client.ask(post("/echo", "x", "Content-Encoding: br\r\n")).status, 415);
  EXPECT_EQ(RawClient(server.port()).ask(post("/echo", "x", "Content-Encoding: gzip\r\n")).status,
            400);
  const std::string bomb = gzipped(std::string(10 << 20, '\0'));
  EXPECT_EQ(RawClient(server.port()).ask(post("/echo", bomb, "Content-Encoding: gzip\r\n")).status,
            413);
}

}  // namespace
}  // namespace pando::http
