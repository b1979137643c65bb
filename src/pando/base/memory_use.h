// How much memory this process has in use, and how much the machine has.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace pando {

// In bytes; 0 if the system does not report the value.
struct MemoryUse {
  int64_t resident = 0;  // physical memory that this process uses
  int64_t machine = 0;   // physical memory of the machine
};
MemoryUse memory_use();

}  // namespace pando
