// A model server that `pando request` starts for itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace pando::request {

// Runs from the constructor to the destructor, which ends it as SIGTERM does.
class ServerProcess {
 public:
  // Starts this program with the arguments, and waits until it says that it is ready. Throws
  // IoError with what it said.
  explicit ServerProcess(const std::vector<std::string>& args);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& line() const { return line_; }  // what it said
  int port(const std::string& scheme) const;         // "grpc" or "http"

 private:
  void stop();

  pid_t process_ = -1;
  int output_ = -1;
  std::string line_;
};

}  // namespace pando::request
