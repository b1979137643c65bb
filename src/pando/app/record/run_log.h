// Writes the messages of a run to log.txt and, unless --quiet, to the terminal.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <string>

#include "pando/app/record/run_directory.h"

namespace pando::app {

// The directory and the stream must outlive it. Used by one thread.
class RunLog {
 public:
  RunLog(RunDirectory& directory, std::ostream& out, bool quiet)
      : directory_(directory), out_(out), quiet_(quiet) {}

  void say(const std::string& line) {
    directory_.log(line);
    if (!quiet_) out_ << line << std::endl;
  }
  // Prints also with --quiet: for results and for the reason why the run ended.
  void say_always(const std::string& line) {
    directory_.log(line);
    out_ << line << std::endl;
  }
  // Prints text of several lines that does not belong in the log file.
  void show(const std::string& text) {
    if (!quiet_) out_ << text << std::flush;
  }

  RunDirectory& directory() { return directory_; }
  bool quiet() const { return quiet_; }

 private:
  RunDirectory& directory_;
  std::ostream& out_;
  bool quiet_;
};

}  // namespace pando::app
