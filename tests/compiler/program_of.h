// The program of IR text.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "pando/compiler/program.h"
#include "pando/ir/text.h"

namespace pando::compiler {

inline std::unique_ptr<const Program> program_of(std::string_view text,
                                                 ProgramOptions options = {}) {
  return compile(ir::parse_graph(text), std::move(options));
}

}  // namespace pando::compiler
