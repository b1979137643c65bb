// Threads with names, so that debuggers, profilers and `top -H` tell them apart.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace pando {

// Names the calling thread. The system keeps 15 characters; the rest is cut off.
void set_thread_name(std::string_view name);

// The name of the calling thread.
std::string thread_name();

// Pins the calling thread to these hardware threads (the system's numbers); an empty list changes
// nothing. This affects only speed: a refusal by the system is ignored.
void pin_this_thread(std::span<const int> hardware_threads);

// Lowers the calling thread to background work: when it has something to do, it waits its turn
// instead of interrupting other threads. This affects only speed: a refusal by the system is
// ignored.
void give_way();

// Starts a named thread; its destructor asks for a stop and joins. `body` must not throw.
std::jthread start_thread(std::string name, std::function<void(std::stop_token)> body);

}  // namespace pando
