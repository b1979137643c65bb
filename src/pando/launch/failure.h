// What instances and mpirun say about how a job ended, and which instance failed first.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace pando::launch {

// What an instance, or another about it, says on standard error:
//   pando: instance 1 on hostb (pid 123): exit code 3
struct InstanceStatus {
  int instance = -1;  // -1: none is known
  std::string host;   // empty: unknown
  int pid = 0;        // 0: unknown
  std::string text;
  bool is_shown = false;  // the text is that of an error which the user has just seen
};
std::string to_line(const InstanceStatus& status);  // without a line's end
std::optional<InstanceStatus> parse_status(std::string_view line);

// The texts of run-instance. Other ones come from the program itself.
constexpr const char* kStarted = "started";
constexpr const char* kStoppedText = "exit code 75";  // stopped, with everything saved
std::string exit_text(int wait_status);               // of waitpid()
bool is_from_launcher(const InstanceStatus& status);

// "SIGINT".
std::string signal_name(int number);

// A block of lines between two rows of dashes by which mpirun tells that a job failed; nothing
// when it tells something else (a host that cannot be reached, a wrong argument).
std::optional<InstanceStatus> parse_failure_block(const std::string& block);

// Collects all that is said and keeps the first cause. Used by one thread.
class FailureLog {
 public:
  void take(const InstanceStatus& status);
  void take_failure(InstanceStatus failure);

  bool has_failed() const { return first_.has_value(); }
  // A program has saved and stopped, and none has failed.
  bool has_stopped() const { return stopped_ && !first_; }
  const std::optional<InstanceStatus>& first() const { return first_; }
  // The exit code of the program that failed first, if that is known: of several, hydra gives none.
  std::optional<int> first_code() const;

  // "the job failed after 2.1 s with exit code 3; first was instance 1 on a (pid 12): exit code 3".
  std::string summary(int code, double seconds) const;

 private:
  std::map<int, InstanceStatus> started_;  // where instances run
  std::optional<InstanceStatus> first_;
  bool stopped_ = false;
  std::string end_;  // how its program ended, when the first cause does not say
};

}  // namespace pando::launch
