// A server of calls over HTTP/2, by TCP, TLS and Unix sockets, with few threads and firm limits.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pando/http/h2_call.h"
#include "pando/http/server_options.h"

namespace pando::http {

struct H2Limits {
  int64_t header_bytes = 16 << 10;                  // of a call; more: status 431
  int64_t headers = 100;                            // more: status 431
  int64_t dropped_header_bytes = 64 << 10;          // beyond them, and of trailers; more: closed
  std::chrono::milliseconds header_timeout{5'000};  // of the handshakes, and of headers: closed
  std::chrono::milliseconds body_timeout{30'000};   // of a call without a byte: reset
  int64_t least_body_rate = 1 << 10;                // bytes per second, after header_timeout: reset
  std::chrono::milliseconds write_timeout{30'000};  // without progress of answers: closed or reset
  int64_t least_answer_rate = 1 << 10;  // bytes per second, in each write_timeout: closed or reset
  std::chrono::milliseconds ping_after{60'000};    // of silence; finds clients that are gone
  std::chrono::milliseconds ping_timeout{20'000};  // of the answer: closed
  int64_t connections = 4096;                      // more: the client that waits longest is closed
  int64_t streams = 1024;                          // of a connection at the same time
  int64_t calls = 32'768;                          // of all connections; more: refused
  int64_t waiting_bytes = int64_t{1} << 30;        // of answers, of all connections; more: reset
  int64_t stream_bytes = 1 << 20;  // that wait for a slow reader of several messages: reset
  int64_t idle_frames = 10'000;    // per second that carry nothing (pings, settings, ...): closed
};

struct H2ServerOptions {
  std::string protocol = "HTTP/2";  // for error texts
  std::string address = "127.0.0.1";
  int port = 0;                        // 0: any free one
  std::string unix_socket;             // a path; empty: none
  Tls tls;                             // of TCP; without a certificate: no TLS
  std::vector<Header> answer_headers;  // of every answer; names in lower case
  std::string outcome;                 // the name of the trailer that says how a call ended
  int io_threads = 1;
  // A thread calls it when it has handed over the calls that have arrived; true: once more, after
  // it has looked for others.
  std::function<bool()> after_reads;
  H2Limits limits;
  std::function<void(const AccessRecord&)> access_log;  // called by the threads; must not throw
};

// Listens from its construction on. The service must outlive it. All functions may be called from
// any thread but those of the server.
class H2Server {
 public:
  // Throws InvalidArgument for an invalid address or option, IoError if an address is in use or a
  // file of TLS cannot be read.
  H2Server(H2ServerOptions options, CallService& service);
  ~H2Server();  // closes all connections
  H2Server(const H2Server&) = delete;
  H2Server& operator=(const H2Server&) = delete;

  int port() const;
  int connections() const;
  int64_t open_calls() const;
  // Accepts no more connections and calls, and closes the connections when their calls have been
  // answered. Returns whether all are closed within the time.
  bool drain(std::chrono::milliseconds timeout);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pando::http
