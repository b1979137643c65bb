// The board over HTTP: its page, the list, opened runs, events and reports. Only GET.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "pando/board/board.h"
#include "pando/board/events.h"
#include "pando/http/routes.h"

namespace pando::board {

struct ServiceOptions {
  std::vector<std::string> host_names;  // allowed beside numeric addresses and localhost
  EventOptions events;
  int threads = 2;  // that read files
};

//   /                          the page
//   /api/runs                  the list
//   /api/open?run=ID&...       runs over each other
//   /api/events?version=N&run=ID&mark=M&...   what changes from now on
//   /report?run=ID&...         the report on runs, a page of its own
// What reads files is done by threads of its own, so that events go on meanwhile.
class Service : public http::Handler {
 public:
  Service(Board& board, ServiceOptions options);
  ~Service() override;  // ends all streams; requests that wait get an answer 503

  void handle(const http::Request& request, http::Reply reply) override;

 private:
  // An answer that is made by a thread of the service.
  using Answer = std::function<http::Response()>;
  struct Task {
    http::Reply reply;
    Answer answer;
  };

  void add_routes();
  void subscribe(const http::Request& request, http::Reply reply);
  void enqueue(http::Reply reply, Answer answer);
  void work(const std::stop_token& stop);

  Board& board_;
  const ServiceOptions options_;
  http::Routes routes_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Task> tasks_;
  std::vector<std::jthread> threads_;
  Events events_;
};

}  // namespace pando::board
