// One line of JSON per answered request.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <mutex>
#include <string>

#include "pando/http/server_options.h"

namespace pando::server {

// Every function may be called by any thread. A full disk loses lines, never requests.
class AccessLog {
 public:
  // "-": standard output. Throws IoError if the file cannot be written.
  explicit AccessLog(std::string path);
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void write(const http::AccessRecord& record);
  void flush();
  // Reopens the file of this name, after log rotation has renamed it.
  void reopen();

 private:
  void open();

  std::mutex mutex_;
  std::string path_;
  std::FILE* file_ = nullptr;
};

// {"time": "2026-11-18T03:00:00.123Z", "peer": ..., ...}
std::string access_line(const http::AccessRecord& record, double unix_seconds);

}  // namespace pando::server
