// Runs one command to its end, with all processes that it starts.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/benchmark/output_scan.h"
#include "pando/benchmark/spec.h"
#include "pando/launch/signal_inbox.h"

namespace pando::benchmark {

struct CommandRequest {
  std::vector<std::string> words;  // the program as a path, and its arguments
  std::string folder;              // where it runs
  Settings env;                    // in addition to our own environment
  std::optional<double> timeout;   // seconds
  // Gets the output as it comes. If it throws, the processes are ended.
  std::function<void(Stream stream, std::string_view bytes)> take_output;
  double progress_period = 1;                         // seconds
  std::function<void(double seconds)> show_progress;  // may be empty
};

struct CommandEnd {
  int code = 0;       // as a shell reports it
  int killed_by = 0;  // a signal that ended the program; 0: none
  bool timed_out = false;
  int stop_signal = 0;  // a signal to us, for which the program was ended; 0: none
  int left_behind = 0;  // processes that outlived the program and were ended
  double seconds = 0;
  double other_cores = 0;  // that other processes of this machine used meanwhile
};

// Returns when the program and all processes that it started have ended. Requires: this process has
// no other children. Throws ResourceError if the program cannot be started.
CommandEnd run_command(const CommandRequest& request, launch::SignalInbox& signals);

}  // namespace pando::benchmark
