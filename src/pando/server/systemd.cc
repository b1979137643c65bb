// SPDX-License-Identifier: MIT
#include "pando/server/systemd.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "pando/base/strings.h"

namespace pando::server {

void tell_systemd(const std::string& state) {
  const char* const name = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string_view path = name == nullptr ? "" : name;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) return;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';  // a name without a file
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  ::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), bytes);
  ::close(socket);
}

std::optional<std::chrono::microseconds> watchdog_interval() {
  const char* const text = std::getenv("WATCHDOG_USEC");
  const auto number = text == nullptr ? std::nullopt : parse_int(text);
  if (!number || *number <= 0) return std::nullopt;
  return std::chrono::microseconds(*number);
}

}  // namespace pando::server
