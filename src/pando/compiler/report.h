// Writes what the compiler decided, for people and for programs: passes, kernels and why others
// refused, layouts, work, memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/compiler/compilation_report.h"

namespace pando::compiler {

struct ReportDetail {
  bool blocks = false;  // a line for every block of memory
};

std::string to_text(const CompilationReport& report, ReportDetail detail = {});

// An object with the keys passes, precision, division, flops_per_sample, ops, layers and memory.
std::string to_json(const CompilationReport& report);

// to_text of the report on a program.
std::string compile_report(const Program& program, const std::vector<std::string>& layers = {});

}  // namespace pando::compiler
