// A client of calls over HTTP/2 that waits for each answer; it is cheap, so that it can measure
// servers beside them.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pando/http/message.h"

namespace pando::http {

struct CallAnswer {
  enum class Kind { complete, late, broken };
  Kind kind = Kind::broken;
  std::string problem;          // why it is broken
  std::vector<Header> headers;  // and trailers; names in lower case
  std::string body;

  // The value of the last header with this name; null if there is none.
  const std::string* header(std::string_view name) const;
};

// One connection, which is made by the first call, and again by a call after it broke. Used by one
// thread.
class CallClient {
 public:
  CallClient(std::string host, int port);
  ~CallClient();
  CallClient(const CallClient&) = delete;
  CallClient& operator=(const CallClient&) = delete;

  // Sends `body` to a path and waits for the whole answer, but not longer than `until`. `headers`:
  // further ones, with names in lower case.
  CallAnswer call(std::string_view path, const std::vector<Header>& headers, std::string_view body,
                  Clock::time_point until);

 private:
  class Connection;
  const std::string host_;
  const int port_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace pando::http
