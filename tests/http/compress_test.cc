// SPDX-License-Identifier: MIT
#include "pando/http/compress.h"

#include <gtest/gtest.h>

#include "pando/http/inflate.h"
#include "tests/http/echo_server.h"
#include "tests/http/raw_client.h"

namespace pando::http {
namespace {

const std::string kText = "[" + std::string(5000, '7') + "]";

std::string unpacked(std::string_view packed) {
  std::string out;
  const auto result = inflate_body(packed, {1 << 20, 10'000}, out);
  return result == InflateResult::done ? out : "broken";
}

TEST(HttpCompress, KnowsWhoTakesGzip) {
  for (const char* yes : {"gzip", "GZIP", "deflate, gzip", "gzip;q=0.5", "br;q=1.0, gzip;q=0.8",
                          "*", "x-gzip", "identity, *;q=0.1"}) {
    EXPECT_TRUE(accepts_gzip(yes)) << yes;
  }
  for (const char* no : {"", "identity", "br, deflate", "gzip;q=0", "gzip; q=0.000", "*;q=0",
                         "gzip;q=0, *", "gzipped", ",,;"}) {
    EXPECT_FALSE(accepts_gzip(no)) << no;
  }
}

TEST(HttpCompress, PacksTextThatGetsShorter) {
  Response response{.body = kText};
  compress(response);
  EXPECT_LT(response.body.size(), kText.size() / 10);
  EXPECT_EQ(unpacked(response.body), kText);
  ASSERT_EQ(response.headers.size(), 2U);
  EXPECT_EQ(response.headers[0].value, "gzip");
  EXPECT_EQ(response.headers[1].name, "Vary");
}

TEST(HttpCompress, LeavesOtherAnswersAlone) {
  Response small{.body = "{}"};
  Response binary{.content_type = "application/octet-stream", .body = kText};
  Response packed{.body = kText, .headers = {{"content-encoding", "br"}}};
  for (Response* response : {&small, &binary, &packed}) {
    const std::string before = response->body;
    const size_t headers = response->headers.size();
    compress(*response);
    EXPECT_EQ(response->body, before);
    EXPECT_EQ(response->headers.size(), headers);
  }
  std::string noise;
  for (uint32_t i = 1; noise.size() < 5000; i = i * 1664525 + 1013904223) {
    noise += static_cast<char>(i >> 24);
  }
  EXPECT_FALSE(gzip(noise).has_value());
}

TEST(HttpCompress, OnlyForClientsThatAsk) {
  EchoRoutes routes;
  const Server server({}, routes);
  RawClient client(server.port());
  const Answer packed = client.ask(get("/large", "Accept-Encoding: gzip\r\n"));
  EXPECT_EQ(packed.status, 200);
  EXPECT_NE(packed.head.find("Content-Encoding: gzip"), std::string::npos);
  std::string out;
  EXPECT_EQ(inflate_body(packed.body, {32 << 20, 10'000}, out), InflateResult::done);
  EXPECT_EQ(out, std::string(16 << 20, 'x'));
  // The same connection, without the header.
  const Answer plain = client.ask(get("/large"));
  EXPECT_EQ(plain.body.size(), size_t{16} << 20);
  EXPECT_EQ(plain.head.find("Content-Encoding"), std::string::npos);
}

}  // namespace
}  // namespace pando::http
