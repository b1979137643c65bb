// Tells systemd about the server, for units of Type=notify. Without systemd nothing happens.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace pando::server {

// Sends "READY=1" and the like to the socket that NOTIFY_SOCKET names; failures are ignored.
void tell_systemd(const std::string& state);
// How often systemd expects "WATCHDOG=1", if it does (WATCHDOG_USEC).
std::optional<std::chrono::microseconds> watchdog_interval();

}  // namespace pando::server
