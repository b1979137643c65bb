// SPDX-License-Identifier: MIT
#include "pando/launch/signal_inbox.h"

#include <cerrno>
#include <cstring>

#include <sys/signalfd.h>
#include <unistd.h>

#include "pando/base/error.h"

namespace pando::launch {
namespace {

bool is_ignored(int number) {
  struct sigaction action = {};
  sigaction(number, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

SignalInbox::SignalInbox() {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    if (!is_ignored(number)) sigaddset(&mask, number);
  }
  sigaddset(&mask, SIGCHLD);
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, &former_pipe_);
  action.sa_handler = SIG_DFL;  // if ignored, children would vanish without exit codes
  sigaction(SIGCHLD, &action, &former_child_);
  sigprocmask(SIG_BLOCK, &mask, &former_mask_);
  descriptor_ = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor_ < 0) {
    const int error = errno;
    restore();
    throw ResourceError("pando run: cannot wait for signals: ", strerror(error));
  }
}

SignalInbox::~SignalInbox() {
  while (next()) {  // otherwise a pending signal would end the process here
  }
  close(descriptor_);
  restore();
}

std::optional<int> SignalInbox::next() {
  signalfd_siginfo info = {};
  if (read(descriptor_, &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

void SignalInbox::restore() const {
  sigaction(SIGPIPE, &former_pipe_, nullptr);
  sigaction(SIGCHLD, &former_child_, nullptr);
  sigprocmask(SIG_SETMASK, &former_mask_, nullptr);
}

}  // namespace pando::launch
