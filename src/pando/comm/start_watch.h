// Watches the start of an instance, which waits inside MPI for all others to start. Without the
// watch it would wait silently for an instance that never starts.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace pando::comm {

struct StartWatchOptions {
  std::chrono::milliseconds first_word{30'000};  // until it says what it waits for
  // The time limit from PANDO_START_TIMEOUT, in seconds, where 0 means none; no value: no limit.
  std::optional<std::chrono::milliseconds> limit = std::chrono::milliseconds(300'000);
  std::function<void(const std::string&)> say;  // empty: standard error
  std::function<void()> give_up;                // empty: ends the process with code 1
};

// Throws InvalidArgument for a time that is not a number of seconds.
StartWatchOptions start_watch_from_environment(
    const std::function<const char*(const char*)>& variables);

// Watches from its construction to its destruction.
class StartWatch {
 public:
  explicit StartWatch(StartWatchOptions options);

 private:
  std::jthread thread_;
};

}  // namespace pando::comm
