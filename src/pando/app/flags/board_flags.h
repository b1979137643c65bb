// The flags of `pando board`.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pando/options/options.h"

namespace pando::app {

struct BoardFlags {
  std::string folder;  // empty: runs
  std::string address = "127.0.0.1";
  std::optional<int> port;  // 0: any free port; no value: 8088 or the next free port
  std::vector<std::string> allow_host;
  bool quiet = false;
};

void add_board_flags(OptionTable& table, BoardFlags& flags);

extern const char* const kBoardHelpHead;

}  // namespace pando::app
