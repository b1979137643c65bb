// A server of HTTP/1.1 over TCP, TLS and Unix sockets, with few threads and firm limits.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>

#include "pando/http/reply.h"
#include "pando/http/server_options.h"

namespace pando::http {

// Listens from its construction on; hands complete requests to the handler, which must outlive it.
// Requests of one connection are handled one after the other, so pipelined ones are answered in
// order. All functions may be called from any thread but those of the server.
class Server {
 public:
  // Throws InvalidArgument for an invalid address or option, IoError if an address is in use or a
  // certificate cannot be read.
  Server(ServerOptions options, Handler& handler);
  ~Server();  // closes all connections

  int port() const;  // that was chosen; -1 without TCP
  int connections() const;

  // Accepts no more connections, closes those without a request, answers the others and closes them
  // too. Returns whether all are closed within the time.
  bool drain(std::chrono::milliseconds timeout);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pando::http
