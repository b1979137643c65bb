#include "pando/fetch/transfer.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/fetch/server.h"
#include "tests/support/expect_error.h"

namespace pando::fetch {
namespace {

class Collector : public Receiver {
 public:
  void begin(int64_t offset) override { begun = offset; }
  void receive(std::span<const std::byte> bytes) override {
    if (throws) throw std::runtime_error("no room");
    for (const std::byte byte : bytes) text += static_cast<char>(byte);
  }
  bool wants_stop() override {
    if (stop_throws) throw std::logic_error("no answer");
    return !text.empty() && stops;
  }

  int64_t begun = -1;
  std::string text;
  bool stops = false;
  bool throws = false;
  bool stop_throws = false;
};

class Transfer : public testing::Test {
 protected:
  Transfer() { server_.files().write_text("x", text_); }

  TransferResult get(const std::string& manner, int64_t offset = 0) {
    return transfer({.url = server_.address(manner) + "/x",
                     .offset = offset,
                     .total = static_cast<int64_t>(text_.size()),
                     .stall_seconds = stall_seconds_},
                    into_);
  }
  void expect(const TransferResult& result, Outcome outcome, const std::string& reason) {
    EXPECT_EQ(result.outcome, outcome) << result.reason;
    EXPECT_SAYS(result.reason, reason);
  }

  Server& server_ = fresh_server();
  std::string text_ = some_text(100'000);
  Collector into_;
  int64_t stall_seconds_ = 30;
};

TEST_F(Transfer, Whole) {
  const TransferResult result = get("ok");
  expect(result, Outcome::whole, "");
  EXPECT_EQ(result.reason, "");
  EXPECT_EQ(into_.begun, 0);
  EXPECT_EQ(into_.text, text_);
}

TEST_F(Transfer, TheRest) {
  expect(get("ok", 99'000), Outcome::whole, "");
  EXPECT_EQ(into_.begun, 99'000);
  EXPECT_EQ(into_.text, text_.substr(99'000));
  EXPECT_EQ(server_.requests(), std::vector<std::string>{"/ok/x bytes=99000-"});
}

TEST_F(Transfer, AServerMayIgnoreTheRange) {
  expect(get("whole", 99'000), Outcome::whole, "");
  EXPECT_EQ(into_.begun, 0);
  EXPECT_EQ(into_.text, text_);
}

TEST_F(Transfer, ACutConnectionMayBeTriedAgain) {
  expect(get("cut-1000"), Outcome::broken, "");
  EXPECT_EQ(into_.text, text_.substr(0, 1000));
}

TEST_F(Transfer, AnAnswerWithoutASizeMayBeShort) {
  expect(get("unsized-1000"), Outcome::broken, "1000 of 100000 bytes");
  into_.text.clear();
  expect(get("unsized"), Outcome::whole, "");
  EXPECT_EQ(into_.text, text_);
}

TEST_F(Transfer, AStallEnds) {
  stall_seconds_ = 1;
  expect(get("stall-100"), Outcome::broken, "Less than 1000 bytes");
  expect(get("trickle"), Outcome::broken, "Less than 1000 bytes");
}

TEST_F(Transfer, BusyServersMayBeTriedAgain) {
  expect(get("busy-1"), Outcome::broken, "HTTP status 503");
  const TransferResult later = get("later-1");
  expect(later, Outcome::broken, "HTTP status 429");
  EXPECT_EQ(later.wait_seconds, 1);
}

TEST_F(Transfer, OthersRefuse) {
  expect(get("missing"), Outcome::refused, "HTTP status 404");
  expect(get("circle"), Outcome::refused, "redirects");
  expect(get("tofile"), Outcome::refused, "\"file\" not supported");
  EXPECT_EQ(into_.begun, -1);
}

TEST_F(Transfer, ARangeTheServerDoesNotHave) {
  expect(get("badrange", 10), Outcome::bad_range, "HTTP status 416");
}

// For example an error page, or another version of the file: none of its bytes are used.
TEST_F(Transfer, AnotherSizeRefuses) {
  expect(get("longer"), Outcome::refused, "100004 bytes, expected 100000");
  expect(get("longer", 10), Outcome::refused, "100004 bytes, expected 100000");
  expect(get("other", 10), Outcome::refused, "100001 bytes, expected 100000");
  EXPECT_EQ(into_.begun, -1);
  expect(get("endless"), Outcome::refused, "more than the expected 100000 bytes");
  EXPECT_LE(into_.text.size(), text_.size());
}

TEST_F(Transfer, AnotherRangeRefuses) {
  expect(get("shifted", 10), Outcome::refused, "from 17 on, expected bytes from 10");
  expect(get("unranged", 10), Outcome::refused, "Content-Range");
  EXPECT_EQ(into_.begun, -1);
}

TEST_F(Transfer, FollowsRedirections) {
  expect(get("redirect", 99'000), Outcome::whole, "");
  EXPECT_EQ(into_.text, text_.substr(99'000));
}

TEST_F(Transfer, AsksTheProxyOfTheEnvironment) {
  ::setenv("no_proxy", "", 1);
  ::setenv("http_proxy", server_.address("").c_str(), 1);
  const TransferResult result = transfer(
      {.url = "http://nowhere.invalid/ok/x", .total = static_cast<int64_t>(text_.size())}, into_);
  ::unsetenv("http_proxy");
  ::setenv("no_proxy", "*", 1);
  expect(result, Outcome::whole, "");
  EXPECT_EQ(server_.requests(), std::vector<std::string>{"/ok/x all"});
}

TEST_F(Transfer, Stops) {
  into_.stops = true;
  expect(get("stall-5000"), Outcome::stopped, "stopped");
}

TEST_F(Transfer, HandsOnWhatTheReceiverThrows) {
  into_.throws = true;
  EXPECT_THROW(get("ok"), std::runtime_error);
  into_.throws = false;
  into_.stop_throws = true;
  EXPECT_THROW(get("ok"), std::logic_error);
}

TEST_F(Transfer, NobodyListens) {
  // Nothing can listen on port 0.
  const TransferResult result = transfer({.url = "http://127.0.0.1:0/x", .total = 5}, into_);
  EXPECT_NE(result.outcome, Outcome::whole);
  EXPECT_NE(result.reason, "");
}

TEST_F(Transfer, FilesToo) {
  const std::string url = "file://" + server_.files().path("x");
  expect(transfer({.url = url, .total = 100'000}, into_), Outcome::whole, "");
  EXPECT_EQ(into_.text, text_);
  into_.text.clear();
  expect(transfer({.url = url, .offset = 99'000, .total = 100'000}, into_), Outcome::whole, "");
  EXPECT_EQ(into_.begun, 99'000);
  EXPECT_EQ(into_.text, text_.substr(99'000));
  expect(transfer({.url = url + "y", .total = 100'000}, into_), Outcome::refused, "");
}

TEST(Address, KnowsItsSchemes) {
  EXPECT_TRUE(is_address("http://x/"));
  EXPECT_TRUE(is_address("HTTPS://x/"));
  EXPECT_TRUE(is_address("file:///x"));
  EXPECT_FALSE(is_address("ftp://x/"));
  EXPECT_FALSE(is_address("/x"));
}

}  // namespace
}  // namespace pando::fetch
