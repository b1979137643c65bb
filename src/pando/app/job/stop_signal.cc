// SPDX-License-Identifier: MIT
#include "pando/app/job/stop_signal.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "pando/base/strings.h"

namespace pando::app {

namespace {

// A signal handler can access only globals. Lock-free atomics are safe there.
std::atomic<int64_t> request_time{0};  // in nanoseconds; 0: no request to stop
std::atomic<int> received_signal{0};
std::atomic<bool> stop_wanted{false};
std::atomic<const char*> stop_answer{""};
std::atomic<int> stop_objects{0};
// SIGUSR1: batch systems send it some time before they end a job.
constexpr std::array<int, 4> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
std::array<struct sigaction, kSignals.size()> previous_actions;
struct sigaction previous_pipe_action;
bool watches_output = false;  // whether the outermost object took over SIGPIPE

// Unlike std::chrono, clock_gettime() is safe in a signal handler by contract.
int64_t monotonic_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool is_repetition(int64_t now, int64_t first) {
  return now - first <= std::chrono::nanoseconds(kSameRequest).count();
}

void take_request(int signal, bool is_first) {
  int none = 0;
  received_signal.compare_exchange_strong(none, signal);
  if (is_first) {
    const std::string_view answer = stop_answer.load();
    // A failed write is ignored: the terminal may be gone.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, answer.data(), answer.size());
  }
  stop_wanted = true;
}

extern "C" void handle_stop(int signal) {
  const int former_errno = errno;
  const int64_t now = monotonic_nanoseconds();
  int64_t first = 0;
  const bool is_first = request_time.compare_exchange_strong(first, now);
  if (!is_first && !is_repetition(now, first)) _exit(128 + signal);
  take_request(signal, is_first);
  errno = former_errno;
}

// Every further write raises SIGPIPE again, so only the first one says something.
extern "C" void handle_closed_output(int signal) {
  const int former_errno = errno;
  int64_t none = 0;
  take_request(signal, request_time.compare_exchange_strong(none, monotonic_nanoseconds()));
  errno = former_errno;
}

// Takes the place of handle_stop() after a request has been answered: the program is about to end.
// Ignores repetitions; other signals do what they did before.
extern "C" void handle_repetition(int signal) {
  if (is_repetition(monotonic_nanoseconds(), request_time)) return;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == signal) sigaction(signal, &previous_actions[i], nullptr);
  }
  raise(signal);  // delivered when this function returns
}

// Signals that the parent process ignores stay ignored: nohup, background jobs of shells.
void set_handler(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (previous_actions[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

void keep_previous_actions() {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction found = {};
    sigaction(kSignals[i], nullptr, &found);
    if (found.sa_handler != handle_repetition) previous_actions[i] = found;
  }
}

// After a request, SIGPIPE stays handled until the program ends, so that a run that saved its state
// keeps its exit code.
void watch_output() {
  struct sigaction found = {};
  sigaction(SIGPIPE, nullptr, &found);
  if (found.sa_handler == SIG_IGN || found.sa_handler == handle_closed_output) return;
  watches_output = true;
  previous_pipe_action = found;
  struct sigaction action = {};
  action.sa_handler = handle_closed_output;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPIPE, &action, nullptr);
}

void leave_output_alone() {
  if (watches_output) sigaction(SIGPIPE, &previous_pipe_action, nullptr);
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals) sigaddset(&set, signal);
  return set;
}

}  // namespace

std::string signal_name(int signal) {
  switch (signal) {
    case SIGINT: return "SIGINT";
    case SIGTERM: return "SIGTERM";
    case SIGHUP: return "SIGHUP";
    case SIGUSR1: return "SIGUSR1";
    case SIGPIPE: return "SIGPIPE";
    default: return concat("signal ", signal);
  }
}

void hold_stop_signals() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

StopSignal::StopSignal(const char* answer, ClosedOutput closed_output)
    : former_answer_(stop_answer.exchange(answer)) {
  if (stop_objects++ > 0) return;
  keep_previous_actions();
  request_time = 0;
  received_signal = 0;
  stop_wanted = false;
  set_handler(handle_stop);
  watches_output = false;
  if (closed_output == ClosedOutput::stops) watch_output();
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // delivers signals that were held
}

StopSignal::~StopSignal() {
  stop_answer = former_answer_;
  if (--stop_objects > 0) return;
  if (request_time != 0) {
    set_handler(handle_repetition);
  } else {
    for (size_t i = 0; i < kSignals.size(); ++i)
      sigaction(kSignals[i], &previous_actions[i], nullptr);
    leave_output_alone();
  }
}

int StopSignal::received() const { return received_signal; }
const std::atomic<bool>& StopSignal::wanted() const { return stop_wanted; }

void StopSignal::expect_repetition() const {
  int64_t none = 0;
  request_time.compare_exchange_strong(none, monotonic_nanoseconds());
}

}  // namespace pando::app
