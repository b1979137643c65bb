// SPDX-License-Identifier: MIT
#include "pando/profile/memory_rate.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include <unistd.h>

#include "pando/base/clock.h"
#include "pando/base/error.h"
#include "pando/base/threads.h"

namespace pando::profile {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLeastBytes = size_t{64} << 20;  // of all threads
constexpr size_t kMostBytes = size_t{256} << 20;

// What one thread copies from one half to the other.
struct CopiedPart {
  std::unique_ptr<char[]> from;
  std::unique_ptr<char[]> to;
};

size_t bytes_of_a_half(int threads) {
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);  // 0 or -1 where it is not known
  const size_t all =
      std::clamp(4 * static_cast<size_t>(std::max(cache, 0L)), kLeastBytes, kMostBytes);
  return all / 2 / static_cast<size_t>(threads);
}

// Empty if the system refuses the memory.
std::vector<CopiedPart> make_parts(int threads, size_t bytes) {
  std::vector<CopiedPart> parts(static_cast<size_t>(threads));
  for (CopiedPart& part : parts) {
    part.from.reset(new (std::nothrow) char[bytes]);
    part.to.reset(new (std::nothrow) char[bytes]);
    if (!part.from || !part.to) return {};
  }
  return parts;
}

// When each thread copied in the present round, and what the rounds gave.
struct Rounds {
  std::vector<Clock::time_point> begins;
  std::vector<Clock::time_point> ends;
  double bytes = 0;  // moved in a round
  double best = 0;   // bytes per second
  int count = 0;

  void finish_one() noexcept {
    const std::chrono::duration<double> took = *std::max_element(ends.begin(), ends.end()) -
                                               *std::min_element(begins.begin(), begins.end());
    // The first round also maps the pages.
    if (count++ > 0 && took.count() > 0) best = std::max(best, bytes / took.count());
  }
};

}  // namespace

double memory_rate(int threads, double seconds) {
  PANDO_CHECK(threads >= 1, threads);
  const size_t half = bytes_of_a_half(threads);
  const std::vector<CopiedPart> parts = make_parts(threads, half);
  if (parts.empty()) return 0;
  const auto count = static_cast<size_t>(threads);
  Rounds rounds{.begins = std::vector<Clock::time_point>(count),
                .ends = std::vector<Clock::time_point>(count),
                .bytes = 2.0 * static_cast<double>(half) * threads};
  const Clock::time_point start = Clock::now();
  bool done = false;
  std::barrier meet(threads, [&]() noexcept {
    rounds.finish_one();
    done = rounds.count > 2 && seconds_since(start) >= seconds;
  });
  run_together(threads, [&](int index) {
    const auto own = static_cast<size_t>(index);
    std::memset(parts[own].from.get(), 1, half);
    while (!done) {
      rounds.begins[own] = Clock::now();
      std::memcpy(parts[own].to.get(), parts[own].from.get(), half);
      rounds.ends[own] = Clock::now();
      meet.arrive_and_wait();
    }
  });
  return rounds.best * 1e-9;
}

}  // namespace pando::profile
