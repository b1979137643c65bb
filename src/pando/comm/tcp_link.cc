// SPDX-License-Identifier: MIT
#include "pando/comm/tcp_link.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/socket.h>

namespace pando::comm {

namespace {

bool try_later(int code) { return code == EAGAIN || code == EWOULDBLOCK || code == EINTR; }

}  // namespace

void Link::send(std::string line) {
  if (!open() || unsent_.size() + kMaxLine > kMaxUnsent) return;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line.resize(std::min(line.size(), kMaxLine - 1));
  unsent_ += line + '\n';
  flush();
}

void Link::flush() {
  while (has_unsent()) {
    const ssize_t sent = ::send(descriptor(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      // receive() notices a broken connection, after the last lines of the other side.
      if (!try_later(errno)) unsent_.clear();
      return;
    }
    unsent_.erase(0, static_cast<size_t>(sent));
  }
}

std::vector<std::string> Link::receive() {
  std::vector<std::string> lines;
  std::array<char, kMaxLine> chunk;
  while (open()) {
    const ssize_t count = ::recv(descriptor(), chunk.data(), chunk.size(), 0);
    if (count < 0 && try_later(errno)) break;
    if (count <= 0) {
      close();
      break;
    }
    received_.append(chunk.data(), static_cast<size_t>(count));
    for (std::string& line : take_lines()) lines.push_back(std::move(line));
    if (received_.size() >= kMaxLine) close();
    if (lines.size() > kMaxLine) break;  // lets other links have their turn
  }
  return lines;
}

std::vector<std::string> Link::take_lines() {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end = received_.find('\n'); end != std::string::npos;
       end = received_.find('\n', begin)) {
    lines.push_back(received_.substr(begin, end - begin));
    begin = end + 1;
  }
  received_.erase(0, begin);
  return lines;
}

std::vector<std::string> words_of(std::string_view line, size_t most) {
  std::vector<std::string> words;
  while (words.size() + 1 < most) {
    const size_t space = line.find(' ');
    if (space == std::string_view::npos) break;
    words.emplace_back(line.substr(0, space));
    line.remove_prefix(space + 1);
  }
  words.emplace_back(line);
  return words;
}

}  // namespace pando::comm
