// A thread that serves some of the connections. Everything of a connection happens on its thread,
// so nothing of it needs a lock.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "pando/http/session_impl.h"

namespace pando::http {

// Its connections keep it alive, so that a reply that comes after the end of the server does no
// harm.
class IoThread : public std::enable_shared_from_this<IoThread> {
 public:
  // What another thread leaves for this one. Must not throw.
  class Task {
   public:
    virtual ~Task() = default;
    virtual void run() = 0;
  };

  // What a thread does when it has handled everything that has arrived; true: it does so again.
  using AfterReads = std::function<bool()>;

  IoThread(int64_t most_connections, AfterReads after_reads);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  boost::asio::io_context& context() { return context_; }
  // Is called when a handler has thrown, and has lost what it was to go on with. Before start().
  void set_after_exception(std::function<void()> function) {
    after_exception_ = std::move(function);
  }
  void start();
  void join();  // closes all connections

  // Runs the function on the thread, at once if this is the thread; not at all after join().
  template <typename Function>
  void dispatch(Function function) {
    if (is_own_thread()) return function();
    const std::lock_guard lock(mutex_);
    if (!stopped_) boost::asio::post(context_, std::move(function));
  }
  bool is_own_thread() { return context_.get_executor().running_in_this_thread(); }

  // Runs the task on the thread after the next wake(). Many tasks need only one: waking a thread
  // takes longer than most of them. After join() the task is destroyed. From any thread.
  void leave(std::unique_ptr<Task> task);
  void wake();
  // Calls wake() as long as the thread exists; the same object for all callers.
  const std::shared_ptr<const std::function<void()>>& waker();

  // Serves the connection that `make` returns, from now on. From any thread.
  template <typename Make>
  void adopt(Make make) {
    dispatch([this, make = std::move(make)]() mutable {
      const bool has_room = make_room();
      serve(make(), has_room);
    });
  }
  // Closes the connections without a request, once the server is draining. From any thread.
  void stop_idle();

  // Only the own thread calls these.
  void forget(Session* session);
  void handled_request();                              // calls after_reads later
  void flush_later(std::shared_ptr<Session> session);  // after all tasks

 private:
  void run();
  bool make_room();
  void serve(std::shared_ptr<Session> session, bool has_room);
  void run_tasks();
  void flush_all();
  void sweep();
  void wait_to_sweep();

  std::vector<std::shared_ptr<Session>> all_sessions() const;

  void run_after_reads();

  const int64_t most_connections_;
  const AfterReads after_reads_;
  std::function<void()> after_exception_;
  bool will_run_after_reads_ = false;
  bool has_missed_reads_ = false;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_{context_};
  std::unordered_map<Session*, std::shared_ptr<Session>> sessions_;
  std::vector<std::shared_ptr<Session>> unflushed_;
  bool runs_tasks_ = false;
  std::mutex mutex_;  // protects what follows
  bool stopped_ = false;
  bool is_woken_ = false;
  std::vector<std::unique_ptr<Task>> tasks_;
  std::shared_ptr<const std::function<void()>> waker_;
  std::thread thread_;
};

}  // namespace pando::http
