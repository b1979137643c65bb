// SPDX-License-Identifier: MIT
#include "pando/http/routes.h"

#include <gtest/gtest.h>

#include "tests/http/reply_recorder.h"

namespace pando::http {
namespace {

TEST(HttpRoutes, TheLongestPathWins) {
  Routes routes;
  std::string called;
  const auto calls = [&](std::string name) {
    return [&called, name](const Request&, Reply reply) {
      called = name;
      reply.send({});
    };
  };
  routes.add("GET", "/a*", calls("any"));
  routes.add("GET", "/a/b", calls("exact"));
  routes.add("POST", "/a/b*", calls("posted"));
  routes.add("GET", "/a/b/*", calls("below"));
  const auto route = [&](std::string_view method, std::string_view path) {
    called = "nothing";
    Request request;
    request.method = method;
    request.path = path;
    const auto recorder = std::make_shared<ReplyRecorder>();
    routes.handle(request, Reply(recorder));
    return recorder->wait().status == 200 ? called : std::to_string(recorder->wait().status);
  };
  EXPECT_EQ(route("GET", "/a"), "any");
  EXPECT_EQ(route("GET", "/a/b"), "exact");
  EXPECT_EQ(route("HEAD", "/a/b"), "exact");
  EXPECT_EQ(route("GET", "/a/b/c"), "below");
  EXPECT_EQ(route("POST", "/a/b/c"), "posted");
  EXPECT_EQ(route("PUT", "/a/b"), "405");
  EXPECT_EQ(route("GET", "/b"), "404");
}

}  // namespace
}  // namespace pando::http
