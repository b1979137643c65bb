// A thread that serves some of the connections. Everything of a connection happens on its thread,
// so nothing of it needs a lock.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "pando/http/connection_impl.h"

namespace pando::http {

// Its connections keep it alive, so that a reply that comes after the end of the server does no
// harm.
class IoThread : public std::enable_shared_from_this<IoThread> {
 public:
  IoThread(std::shared_ptr<Shared> shared, int64_t most_connections);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  boost::asio::io_context& context() { return context_; }
  void start();
  void join();  // closes all connections
  Shared& shared() { return *shared_; }

  // Runs the function on the thread, at once if this is the thread; not at all after join().
  template <typename Function>
  void dispatch(Function function) {
    if (is_own_thread()) return function();
    const std::lock_guard lock(mutex_);
    if (!stopped_) boost::asio::post(context_, std::move(function));
  }
  bool is_own_thread() { return context_.get_executor().running_in_this_thread(); }

  // Serves a connection from now on; by TLS if `tls` is not null. From any thread.
  void adopt(Socket socket, std::string peer, boost::asio::ssl::context* tls);
  // Closes the connections without a request, once the server is draining. From any thread.
  void stop_idle();
  void forget(Connection* connection);  // of its own thread

 private:
  bool make_room();
  void sweep();
  void wait_to_sweep();

  std::vector<std::shared_ptr<Connection>> all_connections() const;

  const std::shared_ptr<Shared> shared_;
  const int64_t most_connections_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_{context_};
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
  std::mutex mutex_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace pando::http
