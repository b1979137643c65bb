// `pando benchmark`: runs the benchmarks of a YAML file.
// SPDX-License-Identifier: MIT
#include <iostream>

#include "pando/benchmark/suite.h"
#include "pando/cli/program.h"

namespace pando::cli {

int command_benchmark(std::span<const std::string> args, std::ostream& out) {
  const auto options = benchmark::parse_benchmark_options(args, out);
  return options ? benchmark::run_benchmarks(*options, out, std::cerr) : 0;
}

}  // namespace pando::cli
