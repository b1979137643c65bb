// SPDX-License-Identifier: MIT
#include "pando/base/threads.h"

#include <array>
#include <future>
#include <system_error>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "pando/base/error.h"

namespace pando {

namespace {

constexpr size_t kNameLimit = 15;  // Linux: 16 bytes with the closing zero

}  // namespace

void set_thread_name(std::string_view name) {
  const std::string kept(name.substr(0, kNameLimit));
  pthread_setname_np(pthread_self(), kept.c_str());
}

std::string thread_name() {
  std::array<char, kNameLimit + 1> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

void pin_this_thread(std::span<const int> hardware_threads) {
  if (hardware_threads.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int thread : hardware_threads) CPU_SET(static_cast<size_t>(thread), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

void give_way() {
  const sched_param none{};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
}

std::jthread start_thread(std::string name, std::function<void(std::stop_token)> body) {
  try {
    return std::jthread([name, body = std::move(body)](const std::stop_token& stop) {
      set_thread_name(name);
      body(stop);
    });
  } catch (const std::system_error& error) {
    throw ResourceError("cannot start the thread '", name, "': ", error.what(), "; ",
                        thread_limit_hint());
  }
}

void run_together(int count, const std::function<void(int index)>& body) {
  std::promise<bool> begin;
  const std::shared_future<bool> begins = begin.get_future().share();
  std::vector<std::jthread> team;
  try {
    for (int i = 0; i < count; ++i) {
      team.push_back(start_thread(concat("pando-", i), [&body, begins, i](const std::stop_token&) {
        if (begins.get()) body(i);
      }));
    }
  } catch (...) {
    begin.set_value(false);
    throw;
  }
  begin.set_value(true);
}

std::string thread_limit_hint() {
  rlimit limit{};
  const bool is_limited = getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return concat("use fewer cores and devices, or raise the limit on threads and processes (",
                is_limited ? concat("ulimit -u is ", limit.rlim_cur, " for all of this user's")
                           : "ulimit -u, or that of the control group",
                ")");
}

}  // namespace pando
