// The signals of this process as something to wait for beside other things.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include <signal.h>

namespace pando::launch {

// While it lives, SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGCHLD are kept for next() and writing to
// a closed pipe ends nothing. What the caller ignores stays ignored (nohup). One at a time, in a
// process with one thread.
class SignalInbox {
 public:
  SignalInbox();
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  int descriptor() const { return descriptor_; }  // readable when there is one
  std::optional<int> next();
  // In a new process: as it was before.
  void restore() const;

 private:
  sigset_t former_mask_ = {};
  struct sigaction former_pipe_ = {};
  struct sigaction former_child_ = {};
  int descriptor_ = -1;
};

}  // namespace pando::launch
