// How much memory the system lets this process take, and checks that refuse larger requests: a
// process that takes more is killed without a message, or begins to swap.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pando/base/error.h"

namespace pando {

// More memory is needed than a limit leaves. Thrown before the memory is taken.
class OverMemoryLimit : public ResourceError {
 public:
  using ResourceError::ResourceError;
};

struct MemoryLimit {
  std::string name;        // "the control group /a/b", "ulimit -v", "the memory of this machine"
  int64_t bytes = 0;       // the limit itself
  int64_t left = 0;        // what can still be taken
  bool is_shared = false;  // other processes take from it too
  bool counts_addresses = false;  // also untouched pages, such as those of stacks
};

// Where the system keeps its figures; tests have folders of their own.
struct MemoryFiles {
  std::string proc = "/proc";
  std::string control_groups = "/sys/fs/cgroup";
};

// The limits that apply to this process now: the machine (what is available without swapping), all
// its control groups (the smaller of memory.max and memory.high; pages of files can be dropped and
// count as free), ulimit -v and -d. After set_memory_limit(), only that one.
std::vector<MemoryLimit> memory_limits(const MemoryFiles& files = {});

// Replaces the limits of the system by this number of bytes that the process may hold in all; 0:
// the limits of the system apply.
void set_memory_limit(int64_t bytes);

// Remembers what is left now. Every instance of a job calls it before any of them takes much, so
// that memory which the others have taken since does not count twice.
void remember_memory_at_start();

struct MemoryNeed {
  int64_t bytes = 0;      // beside what the process holds
  int64_t addresses = 0;  // reserved beside them and never touched
  int processes = 1;      // processes of this machine that will hold as much
};

// The bytes that a limit leaves for a process with this need; may be negative.
int64_t left_for(const MemoryLimit& limit, const MemoryNeed& need);
// The limit that leaves least. Requires: there is one; memory_limits() returns at least one.
const MemoryLimit& tightest(const std::vector<MemoryLimit>& limits, const MemoryNeed& need);

// "1.4 GiB of 2.0 GiB (the control group /a) are left", for each of 2 processes if there are more.
std::string describe(const MemoryLimit& limit, const MemoryNeed& need);

// Throws OverMemoryLimit, which begins with `what`: "the weights of the model need 3.0 GiB, but
// ...".
void require_memory(std::string_view what, int64_t bytes);

}  // namespace pando
