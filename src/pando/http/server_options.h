// What a server of HTTP listens on and how much it takes from its clients.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pando::http {

// Limits against clients that are broken, slow or hostile.
struct Limits {
  int64_t header_bytes = 16 << 10;                  // more: 431
  int64_t headers = 100;                            // more: 431
  std::chrono::milliseconds header_timeout{5'000};  // from the first byte to the last: 408
  std::chrono::milliseconds body_timeout{30'000};   // without a byte of the body: 408
  int64_t least_body_rate = 1 << 10;                // bytes per second, after header_timeout: 408
  std::chrono::milliseconds idle_timeout{60'000};   // without a request: closed
  std::chrono::milliseconds write_timeout{30'000};  // without progress of the answer: closed
  int64_t least_answer_rate = 1 << 10;        // bytes per second, in each write_timeout: closed
  int64_t body_bytes = 32 << 20;              // as sent and unpacked; more: 413
  int64_t all_body_bytes = int64_t{1} << 30;  // of all connections together; more: 503
  double gzip_ratio = 100;                    // unpacked to packed; more: 413
  int64_t chunks = 1024;  // of a chunked body, without those of 256 bytes or more: 413
  int64_t connections =
      4096;  // more: the slowest is closed; if all are served, the new one gets 503
  int64_t stream_bytes = 1 << 20;  // that wait for a slow reader of a stream; more: closed
};

struct Tls {
  std::string certificate;  // a PEM file with the chain
  std::string key;          // a PEM file
  std::string client_ca;    // a PEM file; if set, clients must have a certificate of these
};

// One answered request.
struct AccessRecord {
  std::string_view peer;
  std::string_view method;
  std::string_view target;
  std::string_view agent;  // the header User-Agent
  int status = 0;
  int64_t request_bytes = 0;  // of the body
  int64_t response_bytes = 0;
  double seconds = 0;        // from the first byte of the request to the last of the answer
  std::string_view outcome;  // of a call: the trailer that H2ServerOptions::outcome names
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;             // 0: any free one; -1: no TCP
  std::string unix_socket;  // a path; empty: none
  Tls tls;                  // of TCP; without a certificate: no TLS
  std::string token;        // "Authorization: Bearer <token>" is required; empty: it is not
  std::vector<std::string> public_paths;  // need no token
  int io_threads = 1;
  // An I/O thread calls it when it has handed over the requests that have arrived; true: once more,
  // after it has looked for others.
  std::function<bool()> after_reads;
  Limits limits;
  std::function<void(const AccessRecord&)> access_log;  // called by the I/O threads; must not throw
};

}  // namespace pando::http
