// What a run says: to its log file, and to the user unless he wants quiet.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <string>

#include "pando/app/record/run_directory.h"

namespace pando::app {

// Directory and stream must outlive it. Used by one thread.
class RunLog {
 public:
  RunLog(RunDirectory& directory, std::ostream& out, bool quiet)
      : directory_(directory), out_(out), quiet_(quiet) {}

  void say(const std::string& line) {
    directory_.log(line);
    if (!quiet_) out_ << line << std::endl;
  }
  // Also with --quiet: results, and what ended the run.
  void say_always(const std::string& line) {
    directory_.log(line);
    out_ << line << std::endl;
  }
  // Text of several lines for the user alone.
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
