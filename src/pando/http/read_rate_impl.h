// How fast a client takes what the server has for it.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/http/message.h"

namespace pando::http {

// Looks at one window of time after the other: a client that was fast at first may stop later.
class ReadRate {
 public:
  void begin(Clock::time_point now) {
    since_ = now;
    bytes_ = 0;
  }
  void add(size_t bytes) { bytes_ += bytes; }
  // Whether the client took less than so many bytes per second in the window that has ended, if one
  // has; then begins the next one.
  bool is_too_slow(Clock::time_point now, Clock::duration window, double least) {
    if (now - since_ <= window) return false;
    const double seconds = std::chrono::duration<double>(now - since_).count();
    const bool is_slow = static_cast<double>(bytes_) < seconds * least;
    begin(now);
    return is_slow;
  }

 private:
  Clock::time_point since_ = Clock::now();
  size_t bytes_ = 0;
};

}  // namespace pando::http
