// Sends requests from many connections and measures the answers.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pando/serve/status.h"

namespace pando::request {

using Seconds = std::chrono::duration<double>;

// One connection with a prepared request. Used by one thread.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual serve::Status send(Seconds at_most) = 0;
};

struct LoadPlan {
  int connections = 2;
  int64_t requests = 0;  // of each connection; in an open loop, of all together
  double rate = 0;       // requests per second in an open loop; 0: a closed loop
  double timeout = 10;   // of a request, in seconds
  double warmup_timeout = 1000;
  std::function<void()> ready;                                   // called when all are warmed up
  std::function<void(int connection, double seconds)> answered;  // any thread
};

struct LoadResult {
  double seconds = 0;             // from the first request to the last answer
  std::vector<double> latencies;  // of answers, in seconds, ascending. In an open loop they count
                                  // from the time when the request should have been sent.
  std::vector<double> refusals;   // of requests that failed, in seconds from sending, ascending
  std::map<std::string, int64_t> errors;     // by code: "UNAVAILABLE"
  std::map<std::string, std::string> texts;  // the first message of each

  int64_t failed() const;
  // The latency that this share of answers does not exceed; 0 without answers.
  double percentile(double share) const;
};

// The value that this share of ascending values does not exceed; 0 without values.
double percentile_of(const std::vector<double>& ascending, double share);

// Every connection sends one request to warm up, which must be answered; then all start together.
// Throws Error if a warm-up fails.
LoadResult run_load(const LoadPlan& plan,
                    const std::function<std::unique_ptr<Connection>(int)>& connect);

}  // namespace pando::request
