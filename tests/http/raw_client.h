// A client that sends any bytes and reads answers, for tests of the server.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace pando::http {

struct Answer {
  int status = 0;  // 0: the connection ended without one
  std::string head;
  std::string body;
};

class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect_to(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  // It owns the socket.
  explicit RawClient(const std::string& path, int socket = ::socket(AF_UNIX, SOCK_STREAM, 0))
      : socket_(socket) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    connect_to(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { ::close(socket_); }

  bool is_connected() const { return connected_; }

  // False: the server has closed the connection.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  // One answer: its head, then as many bytes as it says, or the chunks joined.
  Answer receive() {
    size_t end = std::string::npos;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
      if (!read_more()) return {};
    }
    Answer answer;
    answer.head = take(end + 4);
    answer.status = std::stoi(answer.head.substr(9, 3));
    const size_t length = answer.head.find("Content-Length: ");
    if (length != std::string::npos) {
      answer.body = take_bytes(std::stoul(answer.head.substr(length + 16)));
    } else if (answer.head.find("chunked") != std::string::npos) {
      while (true) {
        const std::string chunk = receive_chunk();
        if (chunk.empty()) break;
        answer.body += chunk;
      }
    }
    return answer;
  }
  // Only the head of an answer, which is a stream.
  std::string receive_head() {
    size_t end = std::string::npos;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
      if (!read_more()) return {};
    }
    return take(end + 4);
  }
  std::string receive_chunk() {
    size_t end = std::string::npos;
    while ((end = received_.find("\r\n")) == std::string::npos) {
      if (!read_more()) return {};
    }
    const size_t size = std::stoul(take(end + 2), nullptr, 16);
    const std::string chunk = take_bytes(size);
    take_bytes(2);
    return chunk;
  }
  Answer ask(std::string_view bytes) {
    send(bytes);
    return receive();
  }
  // So many bytes, or what came before the end.
  std::string take_bytes(size_t bytes) {
    while (received_.size() < bytes && read_more()) {
    }
    return take(std::min(bytes, received_.size()));
  }
  // True if the server closes the connection within the time; reads whatever comes before.
  bool is_closed_within(int milliseconds) {
    pollfd waiting = {socket_, POLLIN, 0};
    while (::poll(&waiting, 1, milliseconds) > 0) {
      if (!read_more()) return true;
    }
    return false;
  }

 private:
  void connect_to(const sockaddr* address, socklen_t size) {
    timeval patience = {.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    connected_ = ::connect(socket_, address, size) == 0;
  }
  bool read_more() {
    char part[16384];
    const ssize_t count = ::recv(socket_, part, sizeof(part), 0);
    if (count <= 0) return false;
    received_.append(part, static_cast<size_t>(count));
    return true;
  }
  std::string take(size_t bytes) {
    std::string taken = received_.substr(0, bytes);
    received_.erase(0, bytes);
    return taken;
  }
  int socket_;
  bool connected_ = false;
  std::string received_;
};

}  // namespace pando::http
