// SPDX-License-Identifier: MIT
#include "pando/comm/tcp_socket.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pando/base/error.h"

namespace pando::comm {

namespace {

std::string system_message(int code) { return std::generic_category().message(code); }

// An address with its port, in the form that system calls take.
struct Endpoint {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// Takes a sockaddr_in or a sockaddr_in6.
template <typename Address>
Endpoint endpoint_of(const Address& full) {
  Endpoint result;
  std::memcpy(&result.storage, &full, sizeof full);
  result.size = sizeof full;
  return result;
}

Endpoint ipv6_endpoint(const in6_addr& address, int port) {
  sockaddr_in6 full{};
  full.sin6_family = AF_INET6;
  full.sin6_addr = address;
  full.sin6_port = htons(static_cast<uint16_t>(port));
  return endpoint_of(full);
}

Endpoint ipv4_endpoint(const in_addr& address, int port) {
  sockaddr_in full{};
  full.sin_family = AF_INET;
  full.sin_addr = address;
  full.sin_port = htons(static_cast<uint16_t>(port));
  return endpoint_of(full);
}

std::optional<Endpoint> parse_endpoint(const std::string& address, int port) {
  in_addr four{};
  if (inet_pton(AF_INET, address.c_str(), &four) == 1) return ipv4_endpoint(four, port);
  in6_addr six{};
  if (inet_pton(AF_INET6, address.c_str(), &six) == 1) return ipv6_endpoint(six, port);
  return std::nullopt;
}

Socket new_socket(int family) {
  return Socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void send_at_once(const Socket& socket) {
  const int yes = 1;
  setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

int port_of(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&storage), &size);
  // Both families have the port at the same place.
  sockaddr_in full{};
  std::memcpy(&full, &storage, sizeof full);
  return ntohs(full.sin_port);
}

bool listens(const Socket& socket, const Endpoint& endpoint) {
  return socket.open() && ::bind(socket.descriptor(), endpoint.get(), endpoint.size) == 0 &&
         ::listen(socket.descriptor(), SOMAXCONN) == 0;
}

// The address as text, or empty when others cannot reach it.
std::string reachable_address(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    sockaddr_in full{};
    std::memcpy(&full, &address, sizeof full);
    if (ntohl(full.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET) return "";
    inet_ntop(AF_INET, &full.sin_addr, text.data(), text.size());
  } else if (address.sa_family == AF_INET6) {
    sockaddr_in6 full{};
    std::memcpy(&full, &address, sizeof full);
    if (IN6_IS_ADDR_LOOPBACK(&full.sin6_addr) || IN6_IS_ADDR_LINKLOCAL(&full.sin6_addr)) return "";
    inet_ntop(AF_INET6, &full.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

}  // namespace

Socket::~Socket() { close(); }

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

void Socket::close() {
  if (open()) ::close(std::exchange(descriptor_, -1));
}

Listener listen_anywhere() {
  Listener result{new_socket(AF_INET6), 0};
  const int no = 0;
  if (result.socket.open()) {
    setsockopt(result.socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  }
  if (!listens(result.socket, ipv6_endpoint(in6addr_any, 0))) {  // a host without IPv6
    result.socket = new_socket(AF_INET);
    if (!listens(result.socket, ipv4_endpoint({htonl(INADDR_ANY)}, 0))) {
      throw IoError("cannot listen for other instances: ", system_message(errno));
    }
  }
  result.port = port_of(result.socket);
  return result;
}

std::optional<Socket> accept_one(const Listener& listener) {
  Socket caller(
      ::accept4(listener.socket.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (caller.open()) {
    send_at_once(caller);
    return caller;
  }
  if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
    throw ResourceError("cannot accept the connection of another instance: ", system_message(errno),
                        "; raise the limit of open files (ulimit -n)");
  }
  return std::nullopt;  // none waits, or the caller has closed again
}

std::vector<std::string> own_addresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, freeifaddrs);
  std::vector<std::string> result;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    const std::string address = reachable_address(*each->ifa_addr);
    if (!address.empty()) result.push_back(address);
  }
  return result;
}

std::string network_stack_name() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat space {};
  if (::stat("/proc/self/ns/net", &space) != 0) return boot;
  return concat(boot, "-", space.st_ino);
}

Connection connect_to(const std::string& address, int port, std::chrono::milliseconds patience) {
  const std::optional<Endpoint> endpoint = parse_endpoint(address, port);
  if (!endpoint) return {Socket(), "not an IP address"};
  Socket socket = new_socket(endpoint->storage.ss_family);
  if (!socket.open()) return {Socket(), system_message(errno)};
  send_at_once(socket);
  if (::connect(socket.descriptor(), endpoint->get(), endpoint->size) != 0) {
    if (errno != EINPROGRESS) return {Socket(), system_message(errno)};
    pollfd waiting{socket.descriptor(), POLLOUT, 0};
    if (::poll(&waiting, 1, static_cast<int>(patience.count())) != 1) {
      return {Socket(), concat("no answer within ", patience.count(), " ms")};
    }
    int trouble = 0;
    socklen_t size = sizeof trouble;
    getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &trouble, &size);
    if (trouble != 0) return {Socket(), system_message(trouble)};
  }
  return {std::move(socket), ""};
}

void allow_open_files(int count) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const auto wanted = static_cast<rlim_t>(count);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? wanted : std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace pando::comm
