// SPDX-License-Identifier: MIT
#include "pando/rest/service.h"

#include <gtest/gtest.h>

#include "pando/base/json.h"
#include "tests/rest/fake_backend.h"

namespace pando::rest {
namespace {

bool has_header(const http::Response& response, std::string_view name) {
  for (const http::Header& header : response.headers) {
    if (header.name == name) return true;
  }
  return false;
}

TEST(RestService, KnowsAllAddresses) {
  FakeBackend backend;
  Service service(backend, {.version = "1"});
  const auto get = [&](std::string_view path) { return ask(service, "GET", path); };
  EXPECT_EQ(get("/v1/models/rows").status, 200);
  EXPECT_EQ(get("/v2/health/live").status, 200);
  for (const char* path : {"/metrics", "/monitoring/prometheus/metrics"}) {
    EXPECT_EQ(get(path).body, "# TYPE x counter\nx 1\n");
    EXPECT_EQ(get(path).content_type, "text/plain; version=0.0.4; charset=utf-8");
  }
  EXPECT_EQ(get("/elsewhere").status, 404);
  EXPECT_EQ(ask(service, "POST", "/metrics").status, 405);
  const http::Response page = get("/");
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_TRUE(page.body.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(page.body.ends_with("</html>\n"));
  EXPECT_TRUE(has_header(page, "Content-Security-Policy"));
  // Nothing comes from elsewhere.
  EXPECT_EQ(page.body.find("src=\"http"), std::string::npos);
  EXPECT_EQ(page.body.find("href=\"http"), std::string::npos);
  Service bare(backend, {.version = "1", .page = false});
  EXPECT_EQ(ask(bare, "GET", "/").status, 404);
}

TEST(RestService, TellsThePageAboutModels) {
  FakeBackend backend;
  const Json json = Json::parse(models_text(backend));
  EXPECT_TRUE(json.get<bool>("ready"));
  for (const Json& model : json.at("models").items()) {
    const auto name = model.get<std::string>("name");
    EXPECT_EQ(model.get<int>("serves"), 123);
    EXPECT_EQ(model.get<bool>("takes_pictures"), name == "pictures");
    EXPECT_EQ(model.at("classes").items().size(), name == "classes" ? 2U : 0U);
    EXPECT_EQ(model.at("versions").items()[0].get<std::string>("message"), "bad \"file\"");
  }
}

TEST(RestService, HandsOutExamples) {
  FakeBackend backend;
  Service service(backend, {.version = "1"});
  const auto get = [&](std::string_view path) { return ask(service, "GET", path); };
  const Json json = Json::parse(get("/pando/models").body);
  for (const Json& model : json.at("models").items()) {
    const bool has_some = model.get<std::string>("name") == "pictures";
    EXPECT_EQ(model.at("examples").items().size(), has_some ? 1U : 0U);
  }
  const http::Response picture = get("/pando/examples/pictures/0-cat.png");
  EXPECT_EQ(picture.status, 200);
  EXPECT_EQ(picture.content_type, "image/png");
  EXPECT_EQ(picture.body, "\x89PNG\r\n\x1A\n...");
  EXPECT_TRUE(has_header(picture, "X-Content-Type-Options"));
  for (const char* path :
       {"/pando/examples/", "/pando/examples/pictures", "/pando/examples/pictures/",
        "/pando/examples/rows/0-cat.png", "/pando/examples/nobody/0-cat.png",
        "/pando/examples/%zz/0-cat.png", "/pando/examples/pictures/../0-cat.png",
        "/pando/examples/pictures/../../../etc/passwd"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
  Service bare(backend, {.version = "1", .page = false});
  EXPECT_EQ(ask(bare, "GET", "/pando/examples/pictures/0-cat.png").status, 404);
}

TEST(RestService, LetsPagesOfOthersAskOnlyIfTold) {
  FakeBackend backend;
  Service closed(backend, {.version = "1"});
  EXPECT_EQ(ask(closed, "OPTIONS", "/v1/models/rows").status, 405);
  EXPECT_FALSE(has_header(ask(closed, "GET", "/v1/models/rows"), "Access-Control-Allow-Origin"));
  Service open(backend, {.version = "1", .cors = true});
  EXPECT_TRUE(has_header(ask(open, "GET", "/v1/models/rows"), "Access-Control-Allow-Origin"));
  const http::Response asked =
      ask(open, "OPTIONS", "/v1/models/rows", "", {{"Origin", "https://example.org"}});
  EXPECT_EQ(asked.status, 200);
  EXPECT_TRUE(has_header(asked, "Access-Control-Allow-Methods"));
  EXPECT_EQ(ask(open, "OPTIONS", "/v1/models/rows", "", {{"Origin", "file://x"}}).status, 400);
  EXPECT_EQ(ask(open, "OPTIONS", "/v1/models/rows").status, 400);
}

}  // namespace
}  // namespace pando::rest
