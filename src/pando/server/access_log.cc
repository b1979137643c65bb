// SPDX-License-Identifier: MIT
#include "pando/server/access_log.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <utility>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/http/message.h"

namespace pando::server {

std::string access_line(const http::AccessRecord& record, double unix_seconds) {
  const double whole = std::floor(unix_seconds);
  const auto time = static_cast<std::time_t>(whole);
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char stamp[32];
  std::strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &parts);
  std::string line = fmt::format("{{\"time\": \"{}.{:03}Z\"", stamp,
                                 static_cast<int>((unix_seconds - whole) * 1e3));
  const auto add_text = [&](const char* key, std::string_view text) {
    line += fmt::format(", \"{}\": ", key);
    http::append_json_string(line, text);
  };
  add_text("peer", record.peer);
  add_text("method", record.method);
  add_text("target", record.target);
  line += fmt::format(
      ", \"status\": {}, \"request_bytes\": {}, \"response_bytes\": {}, \"seconds\": {:.6f}",
      record.status, record.request_bytes, record.response_bytes, record.seconds);
  if (!record.outcome.empty()) add_text("grpc_status", record.outcome);
  add_text("agent", record.agent);
  return line + "}\n";
}

AccessLog::AccessLog(std::string path) : path_(std::move(path)) { open(); }

AccessLog::~AccessLog() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

void AccessLog::open() {
  file_ = path_ == "-" ? stdout : std::fopen(path_.c_str(), "ae");
  if (file_ == nullptr) {
    throw IoError("--access-log: cannot write '", path_, "': ", std::strerror(errno));
  }
}

void AccessLog::write(const http::AccessRecord& record) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string line = access_line(record, std::chrono::duration<double>(now).count());
  const std::lock_guard lock(mutex_);
  if (file_ != nullptr) std::fwrite(line.data(), 1, line.size(), file_);
}

void AccessLog::flush() {
  const std::lock_guard lock(mutex_);
  if (file_ != nullptr) std::fflush(file_);
}

void AccessLog::reopen() {
  const std::lock_guard lock(mutex_);
  if (path_ == "-") return;
  if (file_ != nullptr) std::fclose(std::exchange(file_, nullptr));
  open();
}

}  // namespace pando::server
