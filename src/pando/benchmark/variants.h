// The variants of a benchmark: one for each combination of its parameters, with its command.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/benchmark/spec.h"

namespace pando::benchmark {

constexpr size_t kMostVariants = 1000;

struct Variant {
  std::string name;     // <benchmark>_<parameter>_<value>..., sorted by parameter
  Settings parameters;  // sorted by name
};

// Throws UsageError if there are more than kMostVariants, or two of the same name.
std::vector<Variant> make_variants(const Benchmark& benchmark);

struct CommandChanges {
  bool allow_wandb = false;   // otherwise flags that begin with --wandb are removed
  bool compile_only = false;  // adds --compile-only
};

// The command on one line: parameters filled in, the script of Python as an absolute path.
// Environment variables are still to be replaced. Throws UsageError.
std::string command_of(const Benchmark& benchmark, const Variant& variant, CommandChanges changes);

using FindValue = std::function<std::optional<std::string>(const std::string& name)>;

// Replaces {name}; {{ and }} stand for braces. Throws UsageError that starts with `place`.
std::string fill_in(std::string_view text, const FindValue& value, const std::string& place);

// Replaces $NAME and ${NAME}; one without a value stays, for a shell that the command may start.
std::string expand_variables(std::string_view text, const FindValue& value);

// N of a command with mpirun --np N, otherwise 1: each of the processes reports its own throughput.
int processes_of(const std::string& command);

}  // namespace pando::benchmark
