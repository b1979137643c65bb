// Plain TCP between instances: a socket that closes itself, the addresses of a host, and
// connections to them. Failures to connect are ordinary and are returned as values.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace pando::comm {

// Owns a file descriptor. Sockets made here never block and are not inherited by programs that this
// one starts.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  int descriptor() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }
  void close();

 private:
  int descriptor_ = -1;
};

// Listens at a free port on all addresses, IPv6 and IPv4. Throws IoError.
struct Listener {
  Socket socket;
  int port = 0;
};
Listener listen_anywhere();

// The next caller, or nothing if none waits. Throws ResourceError if the process cannot open more
// files.
std::optional<Socket> accept_one(const Listener& listener);

// The numeric addresses of this host that others may reach: without loopback and link-local ones.
std::vector<std::string> own_addresses();

// Equal for two processes exactly if they share one network stack, so that one reaches the other at
// the loopback address.
std::string network_stack_name();

// A connection to a numeric address, or why there is none.
struct Connection {
  Socket socket;
  std::string trouble;  // empty: connected
};
Connection connect_to(const std::string& address, int port, std::chrono::milliseconds patience);

// Raises the limit of open files of this process to at least `count`, as far as the system allows.
void allow_open_files(int count);

}  // namespace pando::comm
