// SPDX-License-Identifier: MIT
#include "pando/base/threads.h"

#include <array>
#include <utility>

#include <pthread.h>
#include <sched.h>

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
  return std::jthread(
      [name = std::move(name), body = std::move(body)](const std::stop_token& stop) {
        set_thread_name(name);
        body(stop);
      });
}

}  // namespace pando
