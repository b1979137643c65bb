// Decides what the user sees of a job's output.
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <ostream>
#include <string>

#include "pando/launch/failure.h"
#include "pando/launch/tagged_lines.h"

namespace pando::launch {

// Prints whole lines with their tags, "[1,<instance>]<stdout>:text", and keeps back lines that are
// only for the launcher: statuses, and mpirun's own texts about a failure. Used by one thread.
class JobOutput {
 public:
  struct Options {
    std::optional<int> only_instance;
    bool verbose = false;
  };
  JobOutput(std::ostream& out, std::ostream& err, Options options)
      : out_(out), err_(err), options_(options) {}

  void take(const OutputLine& line);
  // Call at the end of the job. After a failure, shows the last error lines of the instance that
  // failed if it was hidden.
  void finish(bool failed);
  // Keeps the end of mpirun as the cause, unless something else failed or stopped before.
  void note_killed_mpirun(int pid, const std::string& text);
  void say(const std::string& text);  // prints a message of the launcher itself
  const FailureLog& failures() const { return failures_; }
  bool is_broken() const { return !out_; }  // the reader of the output is gone

 private:
  void take_instance_line(const OutputLine& line);
  void take_mpirun_line(const OutputLine& line);
  void end_block();
  void print(const OutputLine& line);

  std::ostream& out_;
  std::ostream& err_;
  Options options_;
  FailureLog failures_;
  std::optional<std::string> block_;                  // lines since an opening row of dashes
  std::map<int, std::string> errors_;                 // the last error that each instance showed
  std::map<int, std::deque<std::string>> held_back_;  // the last error lines of hidden instances
};

}  // namespace pando::launch
