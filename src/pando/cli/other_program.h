// Programs that are built and installed separately, because they need additional libraries.
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

// Replaces this program by another one, which is in the same folder or where its package installs
// it. If the other program is missing, throws an IoError that says how to get it.
[[noreturn]] void start_other_program(const OtherProgram& program,
                                      std::span<const std::string> args);

}  // namespace pando::cli
