// Tells open pages about changes, by server-sent events. One thread looks at the folder for all
// pages; without pages it does nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pando/board/board.h"
#include "pando/http/reply.h"

namespace pando::board {

// What a page has received so far.
struct Subscription {
  int64_t version = 0;                                // of the list
  std::vector<std::pair<std::string, Mark>> watched;  // paths of opened runs
};

// What the page does not know yet, as events; moves the subscription on:
//   event: runs   data: Board::changes_since      event: rows   data: Board::news_of
std::string events_for(Board& board, Subscription& subscription);

struct EventOptions {
  // The time between two looks, and its least multiple of the time that a look takes.
  std::chrono::milliseconds interval{500};
  int share = 20;
  std::chrono::seconds heartbeat{5};  // after which a silent page is tried, which may be gone
  size_t most_pages = 64;
};

// add() and pages() may be called by any thread.
class Events {
 public:
  Events(Board& board, EventOptions options);
  ~Events();  // ends all streams

  // Answers 503 if there are too many pages.
  void add(http::Reply reply, Subscription subscription);
  size_t pages();

 private:
  using Clock = std::chrono::steady_clock;
  struct Watcher {
    http::Stream stream;
    Subscription subscription;
    Clock::time_point told;  // when something was sent to it
  };

  void run(const std::stop_token& stop);
  bool tell(Watcher& watcher);

  Board& board_;
  const EventOptions options_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Watcher> watchers_;
  std::jthread thread_;
};

}  // namespace pando::board
