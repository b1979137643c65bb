// Lets this process wait for signals together with other descriptors.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include <signal.h>

namespace pando::launch {

// While an object of this class lives, SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGCHLD are kept for
// next(), and SIGPIPE is ignored. Signals that the caller ignored stay ignored (nohup). Create one
// at a time, in a process with one thread.
class SignalInbox {
 public:
  SignalInbox();
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  int descriptor() const { return descriptor_; }  // readable while a signal waits
  std::optional<int> next();
  // Restores the former handlers and mask; for use in a new process.
  void restore() const;

 private:
  sigset_t former_mask_ = {};
  struct sigaction former_pipe_ = {};
  struct sigaction former_child_ = {};
  int descriptor_ = -1;
};

}  // namespace pando::launch
