// SPDX-License-Identifier: MIT
#include "pando/board/service.h"

#include <utility>

#include "pando/app/html/run_report.h"
#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/board/address.h"
#include "pando/pages/page.h"

namespace pando::board {
namespace {

constexpr size_t kMostWaiting = 64;

http::Response page_of(std::string html) {
  http::Response response;
  response.content_type = "text/html; charset=utf-8";
  response.body = std::move(html);
  response.headers = {{"Cache-Control", "no-store"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"X-Frame-Options", "DENY"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cross-Origin-Resource-Policy", "same-origin"}};
  return response;
}

http::Response json_of(const Json& json) {
  http::Response response;
  response.body = json.dump() + "\n";
  response.headers = {{"Cache-Control", "no-store"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Cross-Origin-Resource-Policy", "same-origin"}};
  return response;
}

std::string board_page(const Board& board) {
  return pages::page_html(
      {.title = "Runs · Pando",
       .scripts = {"summary.js", "run_list.js", "run_view.js", "board.js"},
       .styles = {"board.css"},
       .data = Json{{"most", kMostCompared}, {"folder", board.folder().string()}}.dump(),
       .connects = true});
}

std::vector<std::string> runs_of_query(std::string_view query) {
  std::vector<std::string> runs;
  for (auto& [key, value] : parse_query(query)) {
    if (key != "run") throw InvalidArgument("query: expected run=..., got '", key, "'");
    runs.push_back(std::move(value));
  }
  return runs;
}

// Each run is followed by its mark.
Subscription subscription_of(std::string_view query) {
  Subscription result;
  bool has_mark = true;
  for (auto& [key, value] : parse_query(query)) {
    if (key == "run" && has_mark) {
      result.watched.emplace_back(std::move(value), Mark{});
      has_mark = false;
    } else if (key == "mark" && !has_mark) {
      result.watched.back().second = parse_mark(value);
      has_mark = true;
    } else if (const auto number = parse_int(value); key == "version" && number) {
      result.version = *number;
    } else {
      throw InvalidArgument("query: expected version=N and run=ID&mark=M, got '", key, "=", value,
                            "'");
    }
  }
  if (!has_mark) throw InvalidArgument("query: the last run has no mark");
  if (result.watched.size() > kMostCompared) {
    throw InvalidArgument("run: expected at most ", kMostCompared, " runs, got ",
                          result.watched.size());
  }
  return result;
}

// The answer for a run whose folder was removed is 404, whichever function notices it first.
http::Response failure_response(const std::exception& error) {
  const auto* own = dynamic_cast<const Error*>(&error);
  const ErrorKind kind = own == nullptr ? ErrorKind::internal : own->kind();
  const int status = kind == ErrorKind::io ? 404 : kind == ErrorKind::invalid_argument ? 400 : 500;
  return http::error_response(status, error.what());
}

}  // namespace

Service::Service(Board& board, ServiceOptions options)
    : board_(board), options_(std::move(options)), events_(board, options_.events) {
  add_routes();
  for (int i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

Service::~Service() {
  for (std::jthread& thread : threads_) thread.request_stop();
  changed_.notify_all();
  threads_.clear();
  for (Task& task : tasks_) task.reply.send(http::error_response(503, "the board is ending"));
}

void Service::add_routes() {
  routes_.add("GET", "/", [this](const http::Request&, http::Reply reply) {
    reply.send(page_of(board_page(board_)));
  });
  // Some browsers ask for it although the page says that it has no icon.
  routes_.add("GET", "/favicon.ico", [](const http::Request&, http::Reply reply) {
    reply.send({.status = 204, .content_type = "image/x-icon"});
  });
  routes_.add("GET", "/api/runs", [this](const http::Request&, http::Reply reply) {
    enqueue(std::move(reply), [this] { return json_of(board_.runs()); });
  });
  routes_.add("GET", "/api/open", [this](const http::Request& request, http::Reply reply) {
    enqueue(std::move(reply), [this, query = std::string(request.query)] {
      return json_of(board_.open(runs_of_query(query)));
    });
  });
  routes_.add("GET", "/report", [this](const http::Request& request, http::Reply reply) {
    enqueue(std::move(reply), [this, query = std::string(request.query)] {
      return page_of(app::run_report_html(board_.folders_of(runs_of_query(query))));
    });
  });
  routes_.add("GET", "/api/events", [this](const http::Request& request, http::Reply reply) {
    subscribe(request, std::move(reply));
  });
}

void Service::handle(const http::Request& request, http::Reply reply) {
  if (!is_own_host(request.header("host"), options_.host_names)) {
    return reply.send(http::error_response(
        403,
        "the header Host names another machine; expected a numeric address, localhost or a "
        "name of --allow-host"));
  }
  routes_.handle(request, std::move(reply));
}

void Service::subscribe(const http::Request& request, http::Reply reply) {
  // An answer to HEAD has no body, so it would never end.
  if (request.method == "HEAD") return reply.send({.content_type = "text/event-stream"});
  Subscription subscription;
  try {
    subscription = subscription_of(request.query);
  } catch (const InvalidArgument& error) {
    return reply.send(failure_response(error));
  }
  events_.add(std::move(reply), std::move(subscription));
}

void Service::enqueue(http::Reply reply, Answer answer) {
  const std::lock_guard lock(mutex_);
  if (tasks_.size() >= kMostWaiting) {
    return reply.send(http::error_response(503, "too many requests wait; try again"));
  }
  tasks_.push_back({std::move(reply), std::move(answer)});
  changed_.notify_one();
}

void Service::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !tasks_.empty(); }), !stop.stop_requested()) {
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    try {
      task.reply.send(task.answer());
    } catch (const std::exception& error) {
      task.reply.send(failure_response(error));
    }
    lock.lock();
  }
}

}  // namespace pando::board
