// A connection of a client, as the thread that serves it sees it.
// SPDX-License-Identifier: MIT
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "pando/http/message.h"

namespace pando::http {

using Socket = boost::asio::generic::stream_protocol::socket;
using TlsStream = boost::asio::ssl::stream<Socket>;
using ErrorCode = boost::system::error_code;

// Only the thread of the connection calls these.
class Session {
 public:
  virtual ~Session() = default;
  virtual void start() = 0;
  virtual void refuse() = 0;  // instead of start(), because there are too many connections
  virtual void close() = 0;
  // The server drains: closes the connection as soon as it has nothing to answer. Is called again
  // and again.
  virtual void stop_if_idle() = 0;
  virtual void check_time(Clock::time_point now) = 0;  // is called a few times a second
  virtual void flush() {}                              // writes the answers that tasks have left
  // Whether the client, not the server, decides when something happens, and since when.
  virtual bool waits_for_client() const = 0;
  virtual Clock::time_point since() const = 0;
};

}  // namespace pando::http
