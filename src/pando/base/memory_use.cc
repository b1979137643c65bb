// SPDX-License-Identifier: MIT
#include "pando/base/memory_use.h"

#include <array>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

namespace pando {

namespace {

int64_t peak_resident() {
  rusage usage{};
  constexpr int64_t kUnit = 1024;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss * kUnit : 0;
}

}  // namespace

MemoryUse memory_use() {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  // In pages: all maps, resident, of files, code, 0, data.
  std::array<int64_t, 6> counts = {};
  std::ifstream statm("/proc/self/statm");
  for (int64_t& count : counts) statm >> count;
  if (!statm) counts = {};
  if (page <= 0) return {};
  return {.resident = counts[1] * page,
          .machine = pages > 0 ? pages * page : 0,
          .addresses = counts[0] * page,
          .data = counts[5] * page,
          .peak = peak_resident()};
}

}  // namespace pando
