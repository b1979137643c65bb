// SPDX-License-Identifier: MIT
#include "pando/app/stop_signal.h"

#include <atomic>

#include <signal.h>
#include <unistd.h>

namespace pando::app {

namespace {

// A handler can reach nothing but globals. Lock-free atomics are safe in it.
std::atomic<int> received_signal{0};
struct sigaction previous_interrupt;
struct sigaction previous_terminate;

extern "C" void handle_stop(int signal) {
  int none = 0;
  if (!received_signal.compare_exchange_strong(none, signal)) _exit(128 + signal);
}

}  // namespace

StopSignal::StopSignal() {
  received_signal = 0;
  struct sigaction action = {};
  action.sa_handler = handle_stop;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &previous_interrupt);
  sigaction(SIGTERM, &action, &previous_terminate);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &previous_interrupt, nullptr);
  sigaction(SIGTERM, &previous_terminate, nullptr);
}

int StopSignal::received() const { return received_signal; }

}  // namespace pando::app
