// `pando board`: starts the program pando-board.
// SPDX-License-Identifier: MIT
#include "pando/app/flags/board_flags.h"
#include "pando/cli/other_program.h"
#include "pando/cli/program.h"
#include "pando/options/command_line.h"

namespace pando::cli {

int command_board(std::span<const std::string> args, std::ostream& out) {
  app::BoardFlags flags;
  CommonOptions common;
  OptionTable table;
  app::add_board_flags(table, flags);
  add_help_option(table, common);
  parse_command_line(table, common, args);
  if (common.help) {
    out << app::kBoardHelpHead << help_text(table);
    return 0;
  }
  out.flush();
  start_other_program({.name = "pando-board", .what = "the board", .target = "board"}, args);
}

}  // namespace pando::cli
