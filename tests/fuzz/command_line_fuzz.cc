// Reads the lines of any text as the arguments of a command line. What was read is written as a
// configuration and read again. Expects the same values or a UsageError.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/options/usage_error.h"
#include "tests/fuzz/targets.h"
#include "tests/options/sample_options.h"

namespace pando {
namespace {

// Sets all values back to their defaults, which is cheaper than a new table.
void reset(const OptionTable& table) {
  for (const Option& option : table.options()) {
    if (option.entries) {
      reset(*option.entries);
    } else {
      PANDO_CHECK(option.read(option.built_in), option.name);
    }
  }
}

}  // namespace
}  // namespace pando

void pando::fuzz::command_line(Input input) {
  const std::string text(input.begin(), input.end());
  static SampleOptions first;
  static SampleOptions second;
  reset(first.table);
  try {
    parse_command_line(first.table, first.common, split(text, '\n'));
  } catch (const UsageError&) {
    return;
  }
  reset(second.table);
  second.table.assign_all(parse_yaml(config_text(first.table), "written"), "");
  for (const Option& option : first.table.options()) {
    if (!option.in_config) continue;
    const Option* again = second.table.find_exact(option.name);
    PANDO_CHECK(again != nullptr && to_yaml(again->show()) == to_yaml(option.show()), option.name);
  }
}
