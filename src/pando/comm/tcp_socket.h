// Plain TCP between instances: a socket that closes itself, where a host can be reached, how to
// reach it. Failures are ordinary here and come back as values.
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

// The next caller, or nothing when none waits. Throws ResourceError when the process may open no
// more files.
std::optional<Socket> accept_one(const Listener& listener);

// The numeric addresses of this host that others may reach: without loopback and those of one link.
std::vector<std::string> own_addresses();

// The same for two processes exactly when they share one network stack, so that one reaches the
// other at the loopback address.
std::string network_stack_name();

// A connection to a numeric address, or why there is none.
struct Connection {
  Socket socket;
  std::string trouble;  // empty: connected
};
Connection connect_to(const std::string& address, int port, std::chrono::milliseconds patience);

// Lets this process have at least so many files open, as far as the system allows.
void allow_open_files(int count);

}  // namespace pando::comm
