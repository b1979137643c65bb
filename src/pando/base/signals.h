// Signals that a program waits for instead of being interrupted.
// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>
#include <initializer_list>

namespace pando {

// Blocks the signals in this thread and in all threads that it starts later, and returns their set
// for sigwait().
inline sigset_t block_signals(std::initializer_list<int> numbers) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : numbers) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

}  // namespace pando
