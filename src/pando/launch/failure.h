// Reads what instances and mpirun report about the end of a job, and finds which instance failed
// first.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace pando::launch {

// The status of an instance, as it or another instance reports it on standard error:
//   pando: instance 1 on hostb (pid 123): exit code 3
struct InstanceStatus {
  int instance = -1;  // -1: unknown
  std::string host;   // empty: unknown
  int pid = 0;        // 0: unknown
  std::string text;
  bool is_shown = false;  // the text repeats an error that the user has just seen
};
std::string to_line(const InstanceStatus& status);  // without newline
std::optional<InstanceStatus> parse_status(std::string_view line);

// Status texts written by run-instance. All other texts come from the program itself.
constexpr const char* kStarted = "started";
constexpr const char* kStoppedText = "exit code 75";  // the program saved everything and stopped
std::string exit_text(int wait_status);               // takes a status of waitpid()
bool is_from_launcher(const InstanceStatus& status);

// The name of a signal, such as "SIGINT".
std::string signal_name(int number);

// Reads a block of lines between two rows of dashes. Returns a status if mpirun reports a failed
// job in this block, nothing if it reports something else (such as a wrong argument).
std::optional<InstanceStatus> parse_failure_block(const std::string& block);

// Collects all statuses and keeps the first cause. Used by one thread.
class FailureLog {
 public:
  void take(const InstanceStatus& status);
  void take_failure(InstanceStatus failure);

  bool has_failed() const { return first_.has_value(); }
  // Whether a program has saved and stopped, and none has failed.
  bool has_stopped() const { return stopped_ && !first_; }
  const std::optional<InstanceStatus>& first() const { return first_; }
  // The exit code of the program that failed first, if known. Needed for hydra, which does not
  // report the first code of several.
  std::optional<int> first_code() const;

  // For example "the job failed after 2.1 s with exit code 3; first failure: instance 1 on a (pid
  // 12): exit code 3".
  std::string summary(int code, double seconds) const;

 private:
  std::map<int, InstanceStatus> started_;  // host and pid by instance
  std::optional<InstanceStatus> first_;
  bool stopped_ = false;
  std::string end_;  // how the program of `first_` ended, if `first_` does not tell
};

}  // namespace pando::launch
