// SPDX-License-Identifier: MIT
#include "pando/benchmark/processor_watch.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include "pando/base/clock.h"

namespace pando::benchmark {
namespace {

// The system counts in ticks; shorter measurements cannot be attributed.
constexpr double kFewestTicks = 20;

double ticks_per_second() { return static_cast<double>(sysconf(_SC_CLK_TCK)); }

std::optional<double> busy_now() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  return busy_seconds(line);
}

double own_seconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage = {};
    getrusage(who, &usage);
    for (const timeval& part : {usage.ru_utime, usage.ru_stime}) {
      sum += static_cast<double>(part.tv_sec) + 1e-6 * static_cast<double>(part.tv_usec);
    }
  }
  return sum;
}

}  // namespace

std::optional<double> busy_seconds(std::string_view stat_line) {
  std::istringstream words{std::string(stat_line)};
  std::string name;
  std::array<double, 8> ticks{};  // user, nice, system, idle, iowait, irq, softirq, steal
  words >> name;
  for (double& one : ticks) words >> one;
  if (!words || name != "cpu") return std::nullopt;
  double sum = 0;
  for (const double one : ticks) sum += one;
  return (sum - ticks[3] - ticks[4]) / ticks_per_second();
}

ProcessorWatch::ProcessorWatch()
    : begin_(std::chrono::steady_clock::now()), busy_(busy_now()), own_(own_seconds()) {}

double ProcessorWatch::other_cores() const {
  const auto busy = busy_now();
  const double wall = seconds_since(begin_);
  if (!busy || !busy_ || wall * ticks_per_second() < kFewestTicks) return 0;
  return std::max(0.0, *busy - *busy_ - (own_seconds() - own_)) / wall;
}

}  // namespace pando::benchmark
