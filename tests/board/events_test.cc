// SPDX-License-Identifier: MIT
#include "pando/board/events.h"

#include <gtest/gtest.h>

#include "tests/board/board_runs.h"
#include "tests/http/reply_recorder.h"

namespace pando::board {
namespace {

namespace fs = std::filesystem;
using testing_support::TempFolder;
using namespace std::chrono_literals;

// A page that reads what it is sent, until it is closed.
class PageSink : public http::ReplySink {
 public:
  void send(http::Response response) override { begin_stream(std::move(response)); }
  void begin_stream(http::Response head) override {
    const std::lock_guard lock(mutex_);
    head_ = std::move(head);
  }
  bool write(std::string data) override {
    const std::lock_guard lock(mutex_);
    text_ += data;
    changed_.notify_all();
    return !closed_;
  }
  void end_stream() override {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  bool wait_for(const std::string& part) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return text_.find(part) != text_.npos; });
  }
  bool wait_for_end() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return ended_; });
  }
  http::Response head() {
    const std::lock_guard lock(mutex_);
    return head_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  http::Response head_;
  std::string text_;
  bool closed_ = false;
  bool ended_ = false;
};

struct BoardEvents : testing::Test {
  fs::path run(const std::string& name) const { return fs::path(folder.path()) / name; }
  Subscription subscription_to(const std::string& path) {
    const int64_t version = board.runs().get<int64_t>("version");
    const Json opened = board.open({path});
    return {.version = version,
            .watched = {{path, parse_mark(opened.at("marks").items()[0].get<std::string>())}}};
  }
  TempFolder folder;
  Board board{folder.path()};
  const EventOptions quick{.interval = 5ms, .share = 1, .heartbeat = 1s, .most_pages = 2};
};

TEST_F(BoardEvents, SayOnlyWhatIsNew) {
  write_run(run("a"), 0);
  app::HistoryWriter history(run("a") / "history.csv", run("a") / "history.json");
  Subscription page = subscription_to("a");
  EXPECT_EQ(events_for(board, page), "");
  history.append(row_at(1));
  const std::string rows = events_for(board, page);
  EXPECT_TRUE(rows.starts_with("event: rows\ndata: {\"run\":\"a\"")) << rows;
  EXPECT_TRUE(rows.ends_with("}\n\n")) << rows;
  EXPECT_EQ(events_for(board, page), "");
  write_run(run("b"));
  board.scan();
  const std::string list = events_for(board, page);
  EXPECT_TRUE(list.starts_with("event: runs\ndata: {\"version\"")) << list;
  EXPECT_NE(list.find("\"id\":\"b\""), std::string::npos);
  EXPECT_EQ(list.find("\"id\":\"a\""), std::string::npos);
  EXPECT_EQ(events_for(board, page), "");
}

TEST_F(BoardEvents, ARunThatStartedAgainIsToldOnce) {
  write_run(run("a"), 5);
  Subscription page = subscription_to("a");
  write_run(run("a"), 2);
  EXPECT_NE(events_for(board, page).find("\"reset\":true"), std::string::npos);
  EXPECT_TRUE(page.watched.empty());
}

TEST_F(BoardEvents, ReachOpenPages) {
  write_run(run("a"), 0);
  app::HistoryWriter history(run("a") / "history.csv", run("a") / "history.json");
  const auto sink = std::make_shared<PageSink>();
  const auto gone = std::make_shared<PageSink>();
  {
    Events events(board, quick);
    events.add(http::Reply(sink), subscription_to("a"));
    EXPECT_EQ(sink->head().content_type, "text/event-stream");
    events.add(http::Reply(gone), subscription_to("a"));
    gone->close();
    history.append(row_at(1));
    EXPECT_TRUE(sink->wait_for("event: rows"));
    write_run(run("b"));
    EXPECT_TRUE(sink->wait_for("event: runs"));
    EXPECT_TRUE(gone->wait_for_end());  // a page that is gone is forgotten
    EXPECT_EQ(events.pages(), 1u);
    EXPECT_TRUE(sink->wait_for("\n:\n\n"));  // a sign of life
  }
  EXPECT_TRUE(sink->wait_for_end());
}

TEST_F(BoardEvents, LookAtNothingWithoutAPage) {
  write_run(run("a"));
  const Events events(board, quick);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(board.files_read(), 0);
}

TEST_F(BoardEvents, TooManyPagesAreRefused) {
  Events events(board, quick);
  for (int i = 0; i < 2; ++i) events.add(http::Reply(std::make_shared<PageSink>()), {});
  const auto refused = std::make_shared<http::ReplyRecorder>();
  events.add(http::Reply(refused), {});
  EXPECT_EQ(refused->wait().status, 503);
}

}  // namespace
}  // namespace pando::board
