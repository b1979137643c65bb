// SPDX-License-Identifier: MIT
#include "pando/request/scratch_folder.h"

#include <cstdlib>
#include <filesystem>

#include <pthread.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/base/paths.h"

namespace pando::request {

namespace fs = std::filesystem;

namespace {

// Nobody sends it to end a program, and a blocked signal is delivered even if it is ignored.
constexpr int kWake = SIGURG;

}  // namespace

ScratchFolder::ScratchFolder() {
  sigemptyset(&signals_);
  sigaddset(&signals_, kWake);
  sigaddset(&signals_, SIGTERM);
  // sigwait would take signals that the parent process ignores: nohup, background jobs of shells.
  for (const int signal : {SIGINT, SIGHUP}) {
    struct sigaction found = {};
    sigaction(signal, nullptr, &found);
    if (found.sa_handler != SIG_IGN) sigaddset(&signals_, signal);
  }
  std::string name = (fs::temp_directory_path() / "pando-request-XXXXXX").string();
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  try {
    if (::mkdtemp(name.data()) == nullptr) throw IoError("cannot make the folder ", name);
    path_ = name;
    watcher_ = std::thread([this] { watch(); });
  } catch (...) {
    remove();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    throw;
  }
}

ScratchFolder::~ScratchFolder() {
  stopping_ = true;
  pthread_kill(watcher_.native_handle(), kWake);
  watcher_.join();
  remove();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void ScratchFolder::watch() const {
  int signal = 0;
  while (sigwait(&signals_, &signal) != 0 || (signal == kWake && !stopping_)) {
  }
  if (stopping_) return;
  remove();
  ::_exit(128 + signal);
}

void ScratchFolder::remove() const {
  constexpr int kAttempts = 100;  // the program may still write into it
  std::error_code ignored;
  for (int i = 0; i < kAttempts && !path_.empty() && path_exists(path_); ++i) {
    fs::remove_all(path_, ignored);
  }
}

}  // namespace pando::request
