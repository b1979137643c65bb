// SPDX-License-Identifier: MIT
#include "pando/app/job/stop_signal.h"

#include <array>
#include <atomic>
#include <string_view>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "pando/base/strings.h"

namespace pando::app {

namespace {

// A signal handler can access only globals. Lock-free atomics are safe there.
std::atomic<int> received_signal{0};
std::atomic<bool> stop_wanted{false};
std::atomic<const char*> stop_answer{""};
// SIGUSR1: batch systems send it some time before they end a job.
constexpr std::array<int, 4> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
std::array<struct sigaction, kSignals.size()> previous_actions;

extern "C" void handle_stop(int signal) {
  int none = 0;
  if (!received_signal.compare_exchange_strong(none, signal)) _exit(128 + signal);
  const std::string_view answer = stop_answer.load();
  // A failed write is ignored: the terminal may be gone.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, answer.data(), answer.size());
  stop_wanted = true;
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
    default: return concat("signal ", signal);
  }
}

void hold_stop_signals() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

StopSignal::StopSignal(const char* answer) {
  stop_answer = answer;
  received_signal = 0;
  stop_wanted = false;
  struct sigaction action = {};
  action.sa_handler = handle_stop;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &previous_actions[i]);
    // Signals that the parent process ignores stay ignored: nohup, background jobs of shells.
    if (previous_actions[i].sa_handler == SIG_IGN) {
      sigaction(kSignals[i], &previous_actions[i], nullptr);
    }
  }
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // delivers signals that were held
}

StopSignal::~StopSignal() {
  for (size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], &previous_actions[i], nullptr);
}

int StopSignal::received() const { return received_signal; }
const std::atomic<bool>& StopSignal::wanted() const { return stop_wanted; }

}  // namespace pando::app
