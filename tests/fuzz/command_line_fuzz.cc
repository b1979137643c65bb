// Reads the lines of any text as the arguments of a command line. What was read is written as a
// configuration and read again. Expects the same values or a UsageError.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/options/command_line.h"
#include "pando/options/usage_error.h"
#include "tests/fuzz/targets.h"

namespace pando {
namespace {

// One option of every type.
struct FuzzedOptions {
  bool on = false;
  int count = 1;
  int64_t size = 10;
  double rate = 0.5;
  std::string name = "x";
  std::optional<int64_t> seed;
  std::vector<std::string> parts;
  std::vector<double> numbers;
  Fraction logs = Fraction(1);
  int color = 0;
  std::optional<double> momentum;
  CommonOptions common;
  OptionTable table;

  FuzzedOptions() {
    table.begin_group("All");
    table.add("on", on, "a switch");
    table.add("count", count, "how many").at_least(1).at_most(9);
    table.add("size", size, "a size").with_alias("bytes").at_least(1);
    table.add("rate", rate, "a rate").above(0);
    table.add("name", name, "a name");
    table.add("seed", seed, "a seed").at_least(0);
    table.add("parts", parts, "some parts");
    table.add("numbers", numbers, "some numbers").at_least(0);
    table.add("logs", logs, "a frequency").at_least(0);
    table.add_choice("color", color, {{"red", 0}, {"blue", 1}}, "a color");
    table.add_dictionary("params", "parameters").add("momentum", momentum, "").at_most(1);
    add_common_options(table, common);
  }
};

}  // namespace
}  // namespace pando

void pando::fuzz::command_line(Input input) {
  const std::string text(input.begin(), input.end());
  FuzzedOptions first;
  try {
    parse_command_line(first.table, first.common, split(text, '\n'));
  } catch (const UsageError&) {
    return;
  }
  const std::string written = config_text(first.table);
  FuzzedOptions second;
  second.table.assign_all(parse_yaml(written, "written"), "");
  for (const Option& option : first.table.options()) {
    if (!option.in_config) continue;
    const Option* again = second.table.find_exact(option.name);
    PANDO_CHECK(again != nullptr && to_yaml(again->show()) == to_yaml(option.show()), option.name);
  }
}
