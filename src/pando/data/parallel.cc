// SPDX-License-Identifier: MIT
#include "pando/data/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include "pando/base/error.h"
#include "pando/base/threads.h"

namespace pando::data {

void for_each_item(size_t count, int workers, const std::function<void(size_t item)>& work) {
  PANDO_CHECK(workers >= 1, workers, " workers");
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  size_t failed_item = count;
  std::exception_ptr failure;
  const auto run = [&] {
    for (size_t item = next++; item < count; item = next++) {
      try {
        work(item);
      } catch (...) {
        next = count;
        const std::lock_guard lock(mutex);
        if (item > failed_item) continue;
        failed_item = item;
        failure = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    const size_t useful = std::min(count, static_cast<size_t>(workers));
    for (size_t i = 1; i < useful; ++i) {
      threads.push_back(start_thread("pando-data", [&](const std::stop_token&) { run(); }));
    }
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pando::data
