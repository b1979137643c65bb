// Programs that are built and installed apart: they need libraries that nothing else does.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

namespace pando::cli {

struct OtherProgram {
  std::string name;    // of its file and its package: "pando-serve"
  std::string what;    // "the server"
  std::string target;  // `./pando build TARGET` makes it
};

// Replaces this program by one that stands beside it, or where the package puts it. Throws IoError
// that says how to get it if it is not there.
[[noreturn]] void start_other_program(const OtherProgram& program,
                                      std::span<const std::string> args);

}  // namespace pando::cli
