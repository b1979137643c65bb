// What fit, evaluate or predict will hold in memory, counted before they take it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pando/base/memory_limit.h"
#include "pando/data/source.h"
#include "pando/train/run_mode.h"

namespace pando {

// One value of a network alone is larger than the memory of the machine.
class ValueOverMemory : public OverMemoryLimit {
 public:
  using OverMemoryLimit::OverMemoryLimit;
};

// One use of a model.
struct RunPart {
  RunMode mode = RunMode::train;
  int64_t batch_size = 32;
  std::vector<Field> fields;  // the fields of the data
  int prefetch_depth = 3;     // see FitOptions; 0: without the batches
  int data_workers = 0;
  bool same_batch = false;
};

struct MemoryItem {
  std::string what;
  int64_t bytes = 0;
  bool grows = false;  // with the micro-batch
};

struct RunMemory {
  int64_t held = 0;               // by the process now: code, data, weights, compiled programs
  std::vector<MemoryItem> items;  // still to be taken
  int threads = 0;                // to be started, each with a stack
  int64_t state = 0;              // a copy of weights and optimizer slots
  int processes = 1;              // instances on this machine, each with as much

  int64_t to_come() const;
  int64_t total() const { return held + to_come(); }
  MemoryNeed need() const;
  void add(const RunMemory& other);  // items and threads
};

// A row for every item, the total, and what the tightest limit leaves.
std::string to_text(const RunMemory& memory, const std::vector<MemoryLimit>& limits);

// Throws OverMemoryLimit with that table if a limit leaves less than the items need; `what` begins
// the message, `remedy` ends it.
void check_fits(const RunMemory& memory, const std::string& what, const std::string& remedy);

}  // namespace pando
