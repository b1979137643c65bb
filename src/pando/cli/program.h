// The program `pando`: a table of subcommands; each is a function that returns an exit code.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <span>
#include <string>

namespace pando::cli {

// Runs `pando <args>`. Writes results to `out`, and an error as one line to `err`; returns the exit
// code. If the process has joined a job, ends its part in the job.
int run_program(std::span<const std::string> args, std::ostream& out, std::ostream& err);

// The text of `pando --help`.
std::string program_help();

// The subcommands, one file each. They return an exit code or throw.
int command_benchmark(std::span<const std::string> args, std::ostream& out);
int command_board(std::span<const std::string> args, std::ostream& out);
int command_complete(std::span<const std::string> args, std::ostream& out);
int command_data(std::span<const std::string> args, std::ostream& out);
int command_devices(std::span<const std::string> args, std::ostream& out);
int command_export(std::span<const std::string> args, std::ostream& out);
int command_man_pages(std::span<const std::string> args, std::ostream& out);
int command_models(std::span<const std::string> args, std::ostream& out);
int command_plan(std::span<const std::string> args, std::ostream& out);
int command_predict(std::span<const std::string> args, std::ostream& out);
int command_report(std::span<const std::string> args, std::ostream& out);
int command_request(std::span<const std::string> args, std::ostream& out);
int command_run(std::span<const std::string> args, std::ostream& out);
int command_run_instance(std::span<const std::string> args, std::ostream& out);
int command_serve(std::span<const std::string> args, std::ostream& out);
int command_show(std::span<const std::string> args, std::ostream& out);
int command_train(std::span<const std::string> args, std::ostream& out);
int command_validate(std::span<const std::string> args, std::ostream& out);

}  // namespace pando::cli
