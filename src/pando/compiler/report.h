// What the compiler decided, for people: passes, kernels and why others refused, layouts, memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/compiler/program.h"

namespace pando::compiler {

std::string compile_report(const Program& program);

}  // namespace pando::compiler
