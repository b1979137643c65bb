// How much memory this process has in use, and how much the machine has.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace pando {

// In bytes; 0 what the system does not tell.
struct MemoryUse {
  int64_t resident = 0;  // of this process, in the machine's memory
  int64_t machine = 0;
};
MemoryUse memory_use();

}  // namespace pando
