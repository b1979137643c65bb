// SPDX-License-Identifier: MIT
#include "pando/board/service.h"

#include <gtest/gtest.h>

#include "tests/board/board_runs.h"
#include "tests/http/reply_recorder.h"

namespace pando::board {
namespace {

namespace fs = std::filesystem;
using testing_support::TempFolder;

struct BoardService : testing::Test {
  void SetUp() override {
    write_run(fs::path(folder.path()) / "a");
    write_run(fs::path(folder.path()) / "<b>");
  }
  http::Response ask(std::string_view target, std::string_view method = "GET",
                     std::string_view host = "localhost:8088") {
    const auto recorder = std::make_shared<http::ReplyRecorder>();
    const http::HeaderView headers[] = {{"Host", host}};
    http::Request request;
    request.method = method;
    request.target = target;
    request.path = target.substr(0, target.find('?'));
    request.query = target.find('?') == target.npos ? "" : target.substr(target.find('?') + 1);
    request.headers = headers;
    service.handle(request, http::Reply(recorder));
    return recorder->wait();
  }
  TempFolder folder;
  Board board{folder.path()};
  Service service{board, {.host_names = {"box.example"}, .events = {}}};
};

TEST_F(BoardService, PageListRunAndReport) {
  const http::Response page = ask("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_NE(page.body.find("connect-src 'self'"), std::string::npos);
  EXPECT_EQ(Json::parse(ask("/api/runs").body).at("runs").items().size(), 2u);
  EXPECT_EQ(Json::parse(ask("/api/open?run=a&run=%3Cb%3E").body).at("runs").items().size(), 2u);
  const http::Response report = ask("/report?run=%3Cb%3E");
  EXPECT_EQ(report.status, 200);
  EXPECT_EQ(report.body.find("<b>"), std::string::npos);  // a name is text
  EXPECT_EQ(ask("/report?run=a&run=%3Cb%3E").status, 200);
  EXPECT_EQ(ask("/api/events?version=0").content_type, "text/event-stream");
}

TEST_F(BoardService, OtherAddressesAndMethods) {
  EXPECT_EQ(ask("/else").status, 404);
  EXPECT_EQ(ask("/../etc/passwd").status, 404);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    EXPECT_EQ(ask("/api/runs", method).status, 405) << method;
  }
  EXPECT_EQ(ask("/", "HEAD").status, 200);
  EXPECT_EQ(ask("/api/events", "HEAD").status, 200);
  EXPECT_EQ(ask("/favicon.ico").status, 204);
}

TEST_F(BoardService, WrongQuestions) {
  for (const char* target : {"/api/open", "/report", "/api/open?run=%4", "/api/open?x=a",
                             "/api/events?version=x", "/api/events?run=a", "/api/events?mark=1.1",
                             "/api/events?run=a&mark=x", "/api/events?run=a&run=a&mark=1.1"}) {
    const http::Response response = ask(target);
    EXPECT_EQ(response.status, 400) << target;
    EXPECT_TRUE(Json::parse(response.body).at("error").is_string());
  }
  std::string many = "/api/events?version=0";
  for (int i = 0; i < 17; ++i) many += "&run=a&mark=1.1";
  EXPECT_EQ(ask(many).status, 400);
  for (const char* target : {"/api/open?run=c", "/report?run=..", "/report?run=%2Fetc"}) {
    EXPECT_EQ(ask(target).status, 404) << target;
  }
}

TEST_F(BoardService, PagesOfOtherNamesGetNothing) {
  for (const char* target : {"/", "/api/runs", "/report?run=a", "/api/events"}) {
    EXPECT_EQ(ask(target, "GET", "evil.example:8088").status, 403) << target;
    EXPECT_EQ(ask(target, "GET", "").status, 403) << target;
  }
  EXPECT_EQ(ask("/", "GET", "box.example").status, 200);
  for (const http::Response& response : {ask("/"), ask("/api/runs"), ask("/report?run=a")}) {
    bool has_nosniff = false, has_cors = false;
    for (const http::Header& header : response.headers) {
      has_nosniff = has_nosniff || header.name == "X-Content-Type-Options";
      has_cors = has_cors || header.name == "Access-Control-Allow-Origin";
    }
    EXPECT_TRUE(has_nosniff);
    EXPECT_FALSE(has_cors);
  }
}

TEST_F(BoardService, WhatWaitsAtTheEndIsAnswered) {
  const auto recorder = std::make_shared<http::ReplyRecorder>();
  {
    Service idle(board, {.host_names = {}, .events = {}, .threads = 0});
    const http::HeaderView headers[] = {{"Host", "localhost"}};
    http::Request request;
    request.method = "GET";
    request.path = request.target = "/api/runs";
    request.headers = headers;
    idle.handle(request, http::Reply(recorder));
    for (int i = 1; i < 64; ++i) {
      idle.handle(request, http::Reply(std::make_shared<http::ReplyRecorder>()));
    }
    const auto late = std::make_shared<http::ReplyRecorder>();
    idle.handle(request, http::Reply(late));
    EXPECT_EQ(late->wait().status, 503);
  }
  EXPECT_EQ(recorder->wait().status, 503);
}

}  // namespace
}  // namespace pando::board
