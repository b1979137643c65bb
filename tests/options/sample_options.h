// A table with one option of every type, for tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pando/options/command_line.h"
#include "pando/options/options.h"

namespace pando {

enum class SampleColor { red, blue };

struct SampleOptions {
  bool on = false;
  bool shuffle = true;
  int count = 1;
  int64_t size = 10;
  double rate = 0.5;
  std::string name = "x";
  std::optional<int64_t> seed;
  std::vector<std::string> parts;
  std::vector<double> numbers;
  std::vector<int> devices;
  Fraction logs = Fraction(1);
  SampleColor color = SampleColor::red;
  std::optional<double> momentum;
  std::optional<bool> nesterov;
  CommonOptions common;
  OptionTable table;

  SampleOptions() {
    using enum SampleColor;
    table.begin_group("First");
    table.add("on", on, "a switch");
    table.add("shuffle", shuffle, "another");
    table.add("count", count, "how many").at_least(1).at_most(9).with_hint("N");
    table.add("micro-size", size, "a size").with_alias("size").at_least(1);
    table.add("rate", rate, "a rate").above(0);
    table.begin_group("Second");
    table.add("name", name, "a name");
    table.add("seed", seed, "a seed").at_least(0);
    table.add("parts", parts, "some parts");
    table.add("numbers", numbers, "some numbers").at_least(0);
    table.add("device-mapping", devices, "some devices").at_least(0);
    table.add("logs", logs, "a frequency").at_least(0);
    table.add_choice("color", color, {{"red", red}, {"blue", blue}, {"azure", blue}}, "a color");
    OptionTable& params = table.add_dictionary("params", "parameters");
    params.add("momentum", momentum, "").at_most(1);
    params.add("nesterov", nesterov, "");
    add_common_options(table, common);
  }
};

}  // namespace pando
