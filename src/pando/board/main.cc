// The program pando-board, which `pando board` starts.
// SPDX-License-Identifier: MIT
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "pando/board/program.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a page that is gone is an error of its connection
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return pando::board::run_board(args, std::cout, std::cerr);
}
