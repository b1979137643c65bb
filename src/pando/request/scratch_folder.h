// A folder for what `pando request` needs only while it runs.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <csignal>
#include <string>
#include <thread>

namespace pando::request {

// Removes its folder at the end, also when SIGINT, SIGTERM or SIGHUP ends the program: then it
// exits with 128 + the signal. Make it before other threads, which must leave these signals to it.
class ScratchFolder {
 public:
  ScratchFolder();  // throws IoError
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  void watch() const;
  void remove() const;

  std::string path_;
  sigset_t signals_ = {};
  sigset_t before_ = {};  // what the thread blocked
  std::atomic<bool> stopping_ = false;
  std::thread watcher_;
};

}  // namespace pando::request
