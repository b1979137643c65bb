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

// Starts a named thread; its destructor asks for a stop and joins. `body` must not throw. Throws
// ResourceError if the system refuses.
std::jthread start_thread(std::string name, std::function<void(std::stop_token)> body);

// Calls body(0), ..., body(count - 1), each on a thread of its own, and returns when all have
// returned. None is called before all threads have started, so they may wait for each other.
// `body` must not throw. Throws ResourceError if the system refuses a thread.
void run_together(int count, const std::function<void(int index)>& body);

// What to do when the system refuses another thread or process; names the limit if there is one.
std::string thread_limit_hint();

}  // namespace pando
