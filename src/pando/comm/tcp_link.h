// Lines of text over a TCP connection that never block, with bounded memory whatever comes in.
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

  // Sends as much as goes out now; flush() goes on. Line feeds become spaces and what is too long
  // is cut, so that each call is one line. What the other side does not take is dropped.
  void send(std::string line);
  void flush();
  bool has_unsent() const { return open() && !unsent_.empty(); }

  // The lines that have come in since.
  std::vector<std::string> receive();

  // False once the other side has closed, broken off or sent a line that is too long.
  bool open() const { return socket_.open(); }
  void close() { socket_.close(); }
  int descriptor() const { return socket_.descriptor(); }

 private:
  std::vector<std::string> take_lines();

  Socket socket_;
  std::string unsent_;
  std::string received_;
};

// The line in words, split at single spaces into at most `most`; the last has the rest.
std::vector<std::string> words_of(std::string_view line, size_t most);

}  // namespace pando::comm
