// Runs other programs, to compare their results with Pando's.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include <sys/wait.h>

namespace pando::testing_support {

struct CommandResult {
  std::string output;
  int exit_code = 0;  // -1 if a signal ended it
};

// Runs the command in a shell. Its stderr goes to that of the test.
inline CommandResult run_command(const std::string& command) {
  const auto close = [](FILE* pipe) { return ::pclose(pipe); };
  CommandResult result;
  std::unique_ptr<FILE, decltype(close)> pipe(::popen(command.c_str(), "r"), close);
  if (pipe == nullptr) throw std::runtime_error("popen");
  for (int c = 0; (c = std::fgetc(pipe.get())) != EOF;) result.output += static_cast<char>(c);
  const int status = ::pclose(pipe.release());
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

// Runs a script of tests/data with Debian's Python. The script exits with 77 if a package is
// missing.
inline CommandResult run_python(const std::string& script, const std::string& arguments) {
  return run_command(PANDO_PYTHON " '" PANDO_SOURCE_DIR "/tests/data/" + script + "' " + arguments);
}

inline constexpr int kMissingPackage = 77;

}  // namespace pando::testing_support
