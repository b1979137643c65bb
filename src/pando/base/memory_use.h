// How much memory this process has in use, and how much the machine has.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace pando {

// In bytes; 0 if the system does not report the value.
struct MemoryUse {
  int64_t resident = 0;   // physical memory that this process uses
  int64_t machine = 0;    // physical memory of the machine
  int64_t addresses = 0;  // all maps of this process, touched or not
  int64_t data = 0;       // the private ones that it may write to
  int64_t peak = 0;       // the largest `resident` so far
};
MemoryUse memory_use();

}  // namespace pando
