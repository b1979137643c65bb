// The program `pando`.
// SPDX-License-Identifier: MIT
#include <iostream>
#include <string>
#include <vector>

#include "pando/cli/program.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return pando::cli::run_program(args, std::cout, std::cerr);
}
