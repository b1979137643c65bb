// SPDX-License-Identifier: MIT
#include "pando/base/threads.h"

#include <array>
#include <utility>

#include <pthread.h>

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

std::jthread start_thread(std::string name, std::function<void(std::stop_token)> body) {
  return std::jthread(
      [name = std::move(name), body = std::move(body)](const std::stop_token& stop) {
        set_thread_name(name);
        body(stop);
      });
}

}  // namespace pando
