// SPDX-License-Identifier: MIT
#include "pando/comm/start_watch.h"

#include <condition_variable>
#include <iostream>
#include <mutex>
#include <stop_token>

#include <unistd.h>

#include "pando/base/error.h"
#include "pando/base/threads.h"

namespace pando::comm {

namespace {

constexpr const char* kVariable = "PANDO_START_TIMEOUT";

// Returns false if the watch ends first.
bool sleep_for(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

double seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

void watch(const StartWatchOptions& options, const std::stop_token& stop) {
  if (!sleep_for(options.first_word, stop)) return;
  options.say(concat("pando: this instance has waited ", seconds(options.first_word),
                     " s for the others to start; check that all of them run pando"));
  if (!options.limit) return;
  if (*options.limit > options.first_word && !sleep_for(*options.limit - options.first_word, stop))
    return;
  options.say(concat("pando: error: not all instances have started within ",
                     seconds(*options.limit), " s; set ", kVariable, " to wait longer"));
  options.give_up();
}

}  // namespace

StartWatchOptions start_watch_from_environment(
    const std::function<const char*(const char*)>& variables) {
  StartWatchOptions options;
  const char* text = variables(kVariable);
  if (text == nullptr) return options;
  const std::optional<double> limit = parse_double(text);
  if (!limit || !(*limit >= 0) || *limit > 1e6) {
    throw InvalidArgument(kVariable, ": expected a number of seconds (0 for no limit), got '", text,
                          "'");
  }
  options.limit = std::chrono::milliseconds(static_cast<int64_t>(*limit * 1000));
  if (*limit == 0) options.limit.reset();
  return options;
}

StartWatch::StartWatch(StartWatchOptions options) {
  if (!options.say) {
    options.say = [](const std::string& line) { std::cerr << line << std::endl; };
  }
  if (!options.give_up) {
    options.give_up = [] { _exit(1); };
  }
  thread_ = start_thread("start watch", [options = std::move(options)](std::stop_token stop) {
    watch(options, stop);
  });
}

}  // namespace pando::comm
