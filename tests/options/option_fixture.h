// The sample options with what the tests of this folder do with them.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/app/job/exit_code.h"
#include "tests/app/test_folder.h"
#include "tests/options/sample_options.h"

namespace pando::app {

using Color = SampleColor;

struct Fixture : SampleOptions {
  void parse(const std::vector<std::string>& args) { parse_command_line(table, common, args); }
  std::string error(const std::vector<std::string>& args) {
    return message_of<UsageError>([&] { parse(args); });
  }
  std::string origin(const std::string& name_of_option) const {
    return to_string(table.find_exact(name_of_option)->origin);
  }
};

}  // namespace pando::app
