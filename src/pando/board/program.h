// The program pando-board.
// SPDX-License-Identifier: MIT
#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace pando::board {

// Serves until a signal ends it; returns the exit code. Blocks the signals that it waits for, so it
// must be called before the process has other threads.
int run_board(std::span<const std::string> args, std::ostream& out, std::ostream& err);

}  // namespace pando::board
