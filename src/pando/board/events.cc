// SPDX-License-Identifier: MIT
#include "pando/board/events.h"

#include <algorithm>

#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando::board {
namespace {

std::string event_text(std::string_view name, const Json& data) {
  return concat("event: ", name, "\ndata: ", data.dump(), "\n\n");
}

}  // namespace

std::string events_for(Board& board, Subscription& subscription) {
  std::string text;
  if (const std::optional<Json> changes = board.changes_since(subscription.version)) {
    subscription.version = changes->get<int64_t>("version");
    text += event_text("runs", *changes);
  }
  auto& watched = subscription.watched;
  for (auto run = watched.begin(); run != watched.end();) {
    const std::optional<Json> news = board.news_of(run->first, run->second);
    if (news) text += event_text("rows", *news);
    // The page opens it again, and comes back with other marks.
    run = news && news->find("reset") != nullptr ? watched.erase(run) : std::next(run);
  }
  return text;
}

Events::Events(Board& board, EventOptions options)
    : board_(board),
      options_(options),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Events::~Events() {
  thread_.request_stop();
  changed_.notify_all();
  thread_.join();
}

void Events::add(http::Reply reply, Subscription subscription) {
  const std::lock_guard lock(mutex_);
  if (watchers_.size() >= options_.most_pages) {
    return reply.send(http::error_response(
        503, concat("expected at most ", options_.most_pages, " open pages; close some")));
  }
  http::Response head;
  head.content_type = "text/event-stream";
  head.headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}};
  watchers_.push_back({reply.stream(std::move(head)), std::move(subscription), Clock::now()});
  watchers_.back().stream.write("retry: 2000\n\n");  // a browser sees that it is connected
  changed_.notify_all();
}

size_t Events::pages() {
  const std::lock_guard lock(mutex_);
  return watchers_.size();
}

void Events::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    changed_.wait(lock, stop, [this] { return !watchers_.empty(); });
    const Clock::time_point begin = Clock::now();
    lock.unlock();
    board_.scan();  // may take long, and new pages need not wait for it
    lock.lock();
    std::vector<Watcher> kept;
    for (Watcher& watcher : watchers_) {
      if (tell(watcher)) kept.push_back(std::move(watcher));
    }
    watchers_ = std::move(kept);
    const auto pause =
        std::max<Clock::duration>(options_.interval, options_.share * (Clock::now() - begin));
    changed_.wait_for(lock, stop, pause, [] { return false; });
  }
  watchers_.clear();
}

bool Events::tell(Watcher& watcher) {
  std::string text;
  try {
    text = events_for(board_, watcher.subscription);
  } catch (const Error&) {
    return true;  // a run that cannot be read now is tried again
  }
  const Clock::time_point now = Clock::now();
  if (text.empty() && now - watcher.told < options_.heartbeat) return true;
  watcher.told = now;
  return watcher.stream.write(text.empty() ? ":\n\n" : std::move(text));
}

}  // namespace pando::board
