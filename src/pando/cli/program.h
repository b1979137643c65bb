// The program: a table of subcommands, each a function that gives an exit code.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <span>
#include <string>

namespace pando::cli {

// Runs `pando <args>`. Results go to `out`. An error becomes one line on `err` and the exit code of
// its kind. Ends the process's part in its job, if it has joined one.
int run_program(std::span<const std::string> args, std::ostream& out, std::ostream& err);

// The answer to `pando --help`.
std::string program_help();

// The subcommands, one file each. They throw what ends them.
int command_complete(std::span<const std::string> args, std::ostream& out);
int command_data(std::span<const std::string> args, std::ostream& out);
int command_devices(std::span<const std::string> args, std::ostream& out);
int command_man_pages(std::span<const std::string> args, std::ostream& out);
int command_models(std::span<const std::string> args, std::ostream& out);
int command_plan(std::span<const std::string> args, std::ostream& out);
int command_run(std::span<const std::string> args, std::ostream& out);
int command_run_instance(std::span<const std::string> args, std::ostream& out);
int command_train(std::span<const std::string> args, std::ostream& out);
int command_validate(std::span<const std::string> args, std::ostream& out);

}  // namespace pando::cli
