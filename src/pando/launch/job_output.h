// What the user sees of a job's output.
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

// Passes whole lines on with their tags, [1,<instance>]<stdout>: text, and keeps back what is only
// for the launcher: statuses, and what mpirun has to say about a failure. Used by one thread.
class JobOutput {
 public:
  struct Options {
    std::optional<int> only_instance;
    bool verbose = false;
  };
  JobOutput(std::ostream& out, std::ostream& err, Options options)
      : out_(out), err_(err), options_(options) {}

  void take(const OutputLine& line);
  // At the end of the job: shows the last errors of an instance that failed and was not shown.
  void finish(bool failed);
  void say(const std::string& text);  // what the launcher itself has to tell
  const FailureLog& failures() const { return failures_; }
  bool is_broken() const { return !out_; }  // nobody reads it any more

 private:
  void take_instance_line(const OutputLine& line);
  void take_mpirun_line(const OutputLine& line);
  void end_block();
  void print(const OutputLine& line);

  std::ostream& out_;
  std::ostream& err_;
  Options options_;
  FailureLog failures_;
  std::optional<std::string> block_;                  // between two rows of dashes
  std::map<int, std::string> errors_;                 // the last that each instance showed
  std::map<int, std::deque<std::string>> held_back_;  // the last errors of instances not shown
};

}  // namespace pando::launch
