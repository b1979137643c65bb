// Listens at an address and at a Unix socket, and gives what it accepts to threads in turn.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "pando/http/io_thread_impl.h"

namespace pando::http {

struct ListenOptions {
  std::string protocol;  // "HTTP", for error texts
  std::string address;
  int port = 0;             // 0: any free one; -1: no TCP
  std::string unix_socket;  // a path; empty: none
};

using Threads = std::vector<std::shared_ptr<IoThread>>;

class Listener {
 public:
  // An accepted connection; `is_local`: of the Unix socket.
  using Give = std::function<void(const std::shared_ptr<IoThread>& thread, Socket socket,
                                  std::string peer, bool is_local)>;
  // Listens, and accepts when the threads start. They, of which the first one accepts, must outlive
  // it. Throws InvalidArgument for an option that cannot be, IoError if it cannot listen.
  Listener(ListenOptions options, const Threads& threads, Give give);

  int port() const { return port_; }  // that was chosen; -1 without TCP
  // Accepts no more; waits until that is so. Requires: the threads have started.
  void stop();

 private:
  void listen_tcp();
  void listen_local();
  void accept();
  template <typename Acceptor>
  void accept_next(Acceptor& acceptor, boost::asio::steady_timer& retry, int& accepts);
  void give(const std::shared_ptr<IoThread>& thread, boost::asio::ip::tcp::socket socket);
  void give(const std::shared_ptr<IoThread>& thread,
            boost::asio::local::stream_protocol::socket socket);

  const ListenOptions options_;
  const Threads& threads_;
  const Give give_;
  // Handlers that wait for a client, or for a pause to end. They may end with the acceptors.
  int tcp_accepts_ = 0;
  int local_accepts_ = 0;
  boost::asio::ip::tcp::acceptor tcp_;
  boost::asio::local::stream_protocol::acceptor local_;
  boost::asio::steady_timer tcp_retry_;
  boost::asio::steady_timer local_retry_;
  size_t next_thread_ = 0;
  int port_ = -1;
};

// Throws InvalidArgument unless a server can have so many.
void check_thread_count(const std::string& protocol, int threads);
// The connections of each thread, at least one.
int64_t share_of(int64_t connections, int threads);

}  // namespace pando::http
