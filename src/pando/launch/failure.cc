// SPDX-License-Identifier: MIT
#include "pando/launch/failure.h"

#include <cstring>
#include <regex>

#include <fmt/core.h>
#include <sys/wait.h>

#include "pando/base/strings.h"

namespace pando::launch {
namespace {

constexpr const char* kNoDaemon =
    "mpirun cannot start its daemon on a host; check that 'ssh HOST true' works without a password "
    "and that Open MPI is installed there";

std::string signal_text(int number) {
  return fmt::format("killed by signal {} ({})", number, strsignal(number));
}

int number_of(const std::string& digits) { return static_cast<int>(parse_int(digits).value_or(0)); }

// Matches the wording of Open MPI 4 for: a signal, an exit code, an abort, a lost host.
std::optional<InstanceStatus> parse_known(const std::string& block) {
  static const std::regex signal_words(
      R"(process rank (\d+) with PID (\d+) on node (\S+) exited\s+on signal (\d+))");
  static const std::regex exit_words(
      R"(exited with non-zero status[^]*Process name: \[\[\d+,\d+\],(\d+)\]\s+Exit code:\s+(\d+))");
  static const std::regex abort_words(
      R"(MPI_ABORT was invoked on rank (\d+)[^]*with errorcode (-?\d+))");
  static const std::regex lost_words(
      R"(lost communication with a remote daemon[^]*Remote daemon: \S+ on node (\S+))");
  std::smatch match;
  if (std::regex_search(block, match, signal_words)) {
    return InstanceStatus{.instance = number_of(match[1]),
                          .host = match[3],
                          .pid = number_of(match[2]),
                          .text = signal_text(number_of(match[4]))};
  }
  if (std::regex_search(block, match, exit_words)) {
    return InstanceStatus{.instance = number_of(match[1]),
                          .host = "",
                          .pid = 0,
                          .text = concat("exit code ", match[2].str())};
  }
  if (std::regex_search(block, match, abort_words)) {
    return InstanceStatus{.instance = number_of(match[1]),
                          .host = "",
                          .pid = 0,
                          .text = concat("aborted the job with exit code ", match[2].str())};
  }
  if (std::regex_search(block, match, lost_words)) {
    return InstanceStatus{.instance = -1, .host = match[1], .pid = 0, .text = "connection lost"};
  }
  return std::nullopt;
}

}  // namespace

std::string to_line(const InstanceStatus& status) {
  return fmt::format("pando: instance {} on {} (pid {}): {}", status.instance, status.host,
                     status.pid, status.text);
}

std::optional<InstanceStatus> parse_status(std::string_view line) {
  static const std::regex words(R"(^pando: instance (\d{1,9}) on (\S+) \(pid (\d{1,9})\): (.+)$)");
  if (!line.starts_with("pando: instance ")) return std::nullopt;
  std::smatch match;
  const std::string text(line);
  if (!std::regex_match(text, match, words)) return std::nullopt;
  return InstanceStatus{.instance = number_of(match[1]),
                        .host = match[2],
                        .pid = number_of(match[3]),
                        .text = match[4]};
}

std::string exit_text(int wait_status) {
  if (WIFSIGNALED(wait_status)) return signal_text(WTERMSIG(wait_status));
  return concat("exit code ", WEXITSTATUS(wait_status));
}

bool is_from_launcher(const InstanceStatus& status) {
  return status.text == kStarted || status.text.starts_with("exit code ") ||
         status.text.starts_with("killed by signal ");
}

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name == nullptr ? concat("signal ", number) : concat("SIG", name);
}

std::optional<InstanceStatus> parse_failure_block(const std::string& block) {
  if (auto known = parse_known(block)) return known;
  const auto says = [&](const char* part) { return block.find(part) != std::string::npos; };
  if (says("unable to reliably start one or more daemons")) {
    return InstanceStatus{.instance = -1, .host = "", .pid = 0, .text = kNoDaemon};
  }
  if (says("Per user-direction, the job has been aborted") ||
      says("does not know how to route a message to the specified daemon") ||
      says("BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES")) {
    return InstanceStatus{};
  }
  return std::nullopt;
}

void FailureLog::take(const InstanceStatus& status) {
  if (status.text == kStarted) {
    started_[status.instance] = status;
  } else if (first_ && first_->instance == status.instance && !is_from_launcher(*first_) &&
             is_from_launcher(status) && end_.empty()) {
    end_ = status.text;
  } else {
    take_failure(status);
  }
}

void FailureLog::take_failure(InstanceStatus failure) {
  stopped_ = stopped_ || failure.text == kStoppedText;
  if (first_ || failure.text.empty() || failure.text == kStoppedText) return;
  const auto started = started_.find(failure.instance);
  if (started != started_.end()) {
    if (failure.host.empty()) failure.host = started->second.host;
    if (failure.pid == 0) failure.pid = started->second.pid;
  }
  first_ = std::move(failure);
}

std::optional<int> FailureLog::first_code() const {
  static const std::regex words(R"(^(exit code|killed by signal) (\d{1,3})\b.*)");
  std::smatch match;
  if (!first_ || !std::regex_match(first_->text, match, words)) return std::nullopt;
  return number_of(match[2]) + (match[1] == "exit code" ? 0 : 128);
}

std::string FailureLog::summary(int code, double seconds) const {
  std::string text = fmt::format("the job failed after {:.1f} s with exit code {}", seconds, code);
  if (!first_) return text;
  if (first_->instance < 0 && first_->host.empty()) return text + "; " + first_->text;
  text += "; first failure: ";
  if (first_->instance < 0) return text + "host " + first_->host + ": " + first_->text;
  text += fmt::format("instance {}", first_->instance);
  if (!first_->host.empty()) text += " on " + first_->host;
  if (first_->pid > 0) text += fmt::format(" (pid {})", first_->pid);
  return text + ": " + (first_->is_shown ? "its error is above" : first_->text) +
         (end_.empty() ? "" : "; " + end_);
}

}  // namespace pando::launch
