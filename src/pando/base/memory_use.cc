// SPDX-License-Identifier: MIT
#include "pando/base/memory_use.h"

#include <fstream>

#include <unistd.h>

namespace pando {

MemoryUse memory_use() {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  int64_t size = 0, resident = 0;  // in pages, the first two numbers of the file
  std::ifstream statm("/proc/self/statm");
  if (!(statm >> size >> resident)) resident = 0;
  if (page <= 0) return {};
  return {.resident = resident * page, .machine = pages > 0 ? pages * page : 0};
}

}  // namespace pando
