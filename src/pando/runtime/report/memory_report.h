// The memory of a program on each device as a table, and the check against a budget.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/runtime/program/device_memory.h"

namespace pando::runtime {

// One row per device of a replica and one per stage. `workers` is the number of workers of a
// device.
std::string memory_report(const compiler::Program& program, const Placement& placement,
                          int workers);

// The same figures as JSON: an array with an object for every device of a replica.
std::string memory_report_json(const compiler::Program& program, const Placement& placement,
                               int workers);

// Throws OverMemoryLimit when a device needs more than `budget` bytes; the message has the table
// and the options that would help.
void check_budget(const compiler::Program& program, const Placement& placement, int workers,
                  size_t budget);

}  // namespace pando::runtime
