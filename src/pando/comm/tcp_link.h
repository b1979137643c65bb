// Lines of text over a TCP connection, without blocking and with bounded memory for any input.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pando/comm/tcp_socket.h"

namespace pando::comm {

// One end of a connection. Used by one thread.
class Link {
 public:
  static constexpr size_t kMaxLine = 4096;  // a longer one ends the connection
  static constexpr size_t kMaxUnsent = 4 * kMaxLine;

  explicit Link(Socket socket) : socket_(std::move(socket)) {}

  // Sends as much as it can now; flush() sends the rest. Line feeds become spaces and long lines
  // are cut, so that each call sends one line. Lines that the other side does not read are dropped.
  void send(std::string line);
  void flush();
  bool has_unsent() const { return open() && !unsent_.empty(); }

  // The lines that have arrived since the last call.
  std::vector<std::string> receive();

  // False once the other side has closed, the connection is broken, or a line was too long.
  bool open() const { return socket_.open(); }
  void close() { socket_.close(); }
  int descriptor() const { return socket_.descriptor(); }

 private:
  std::vector<std::string> take_lines();

  Socket socket_;
  std::string unsent_;
  std::string received_;
};

// Splits the line at single spaces into at most `most` words; the last one has the rest.
std::vector<std::string> words_of(std::string_view line, size_t most);

}  // namespace pando::comm
