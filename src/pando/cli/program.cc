// SPDX-License-Identifier: MIT
#include "pando/cli/program.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/job/stop_signal.h"
#include "pando/base/strings.h"
#include "pando/cli/subcommands.h"
#include "pando/comm/session.h"

namespace pando::cli {
namespace {

// The only list of subcommands.
constexpr Subcommand kSubcommands[] = {
    {"train", "train a model and validate it", command_train},
    {"validate", "measure trained weights on the test data", command_validate},
    {"predict", "print what a trained network says about pictures", command_predict},
    {"export", "write a trained network for other software", command_export},
    {"serve", "answer requests for predictions over the network", command_serve},
    {"request", "ask a model server, and measure its answers", command_request},
    {"show", "show what is in a model file or a run", command_show},
    {"report", "write a page about runs: results, curves, mistakes, time, memory", command_report},
    {"board", "show the runs of a folder in a browser while they go on", command_board},
    {"run", "start a program as several instances, on one machine or many", command_run},
    {"run-instance", nullptr, command_run_instance},
    {"data", "get, make, check, measure and look at data sets", command_data},
    {"models", "list the models with their parameters and FLOPs", command_models},
    {"plan", "predict training on many instances and recommend how to spread it", command_plan},
    {"benchmark", "run the benchmarks of a file, and compare their results", command_benchmark},
    {"complete", nullptr, command_complete},
    {"man-pages", nullptr, command_man_pages},
    {"devices", "show what this machine offers and how devices divide it", command_devices},
};

const Subcommand& find_subcommand(const std::string& name) {
  std::vector<std::string> known;
  for (const Subcommand& command : kSubcommands) {
    if (name == command.name) return command;
    if (command.summary != nullptr) known.emplace_back(command.name);
  }
  throw UsageError(unknown_name_message("command", name, known));
}

int dispatch(std::span<const std::string> args, std::ostream& out) {
  const std::string first = args.empty() ? "--help" : args.front();
  if (first == "--version") {
    out << "pando " PANDO_VERSION "\n";
    return app::kDone;
  }
  const bool is_help = first == "help" || first == "--help" || first == "-h";
  if (is_help && args.size() < 2) {
    out << program_help();
    return app::kDone;
  }
  const std::vector<std::string> ask_help = {"--help"};
  if (is_help) return find_subcommand(args[1]).run(ask_help, out);
  return find_subcommand(first).run(args.subspan(1), out);
}

}  // namespace

std::span<const Subcommand> subcommands() { return kSubcommands; }

std::string help_of(const Subcommand& command) {
  const std::vector<std::string> ask_help = {"--help"};
  std::ostringstream out;
  command.run(ask_help, out);
  return out.str();
}

std::string program_help() {
  std::string text =
      "usage: pando <command> [flags]\n\n"
      "Describes and trains convolutional networks on CPUs.\n\ncommands:\n";
  for (const Subcommand& command : kSubcommands) {
    if (command.summary == nullptr) continue;
    text += fmt::format("  {:<12} {}\n", command.name, command.summary);
  }
  return text + "\n'pando help <command>' shows details; 'pando --version' shows the version.\n";
}

int run_program(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const bool verbose = std::find(args.begin(), args.end(), "--verbose") != args.end();
  try {
    const int code = dispatch(args, out);
    // A signal from now on does not change the exit code.
    const app::StopSignal ending("", app::StopSignal::ClosedOutput::as_before);
    out.flush();
    if (!out && code != app::kStopped) throw IoError("standard output cannot be written");
    if (!out) err << "pando: warning: standard output cannot be written" << std::endl;
    // Prints the status line before end(), because mpirun may not wait for end(). `pando run` reads
    // the line.
    if (code == app::kStopped && std::getenv("PANDO_JOB") != nullptr) {
      err << comm::process_session().status_line(concat("exit code ", code)) << std::flush;
    }
    // All instances of a job come here together.
    comm::process_session().end(code, comm::Ending::together);
    return code;
  } catch (const app::AgreedFailure& error) {
    if (error.is_told_here()) {
      err << "pando: error: " << error.what() << "\n"
          << comm::process_session().status_line(error.what()) << std::flush;
    }
    comm::process_session().end(error.code(), comm::Ending::together);
    return error.code();
  } catch (const std::exception& error) {
    err << "pando: error: " << app::describe(error, verbose) << std::endl;
    const auto* own = dynamic_cast<const Error*>(&error);
    const bool lost = own != nullptr && own->kind() == ErrorKind::comm;
    comm::process_session().report_failure(
        app::describe(error, false), lost ? comm::FailureKind::lost_peer : comm::FailureKind::own);
    // All instances end with these two codes together; other errors may concern only this instance.
    const int code = app::exit_code_of(error);
    const bool agreed = code == app::kStopped || code == app::kNonFiniteLoss;
    comm::process_session().end(code, agreed ? comm::Ending::together : comm::Ending::alone);
    return code;
  }
}

}  // namespace pando::cli
