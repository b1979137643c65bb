// SPDX-License-Identifier: MIT
#include "pando/board/program.h"

#include <csignal>
#include <memory>
#include <ostream>

#include "pando/app/flags/board_flags.h"
#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/base/signals.h"
#include "pando/base/strings.h"
#include "pando/board/service.h"
#include "pando/http/server.h"
#include "pando/options/command_line.h"

namespace pando::board {
namespace {

constexpr int kUsualPort = 8088;
constexpr int kPortsToTry = 20;  // from the usual one on, then any
constexpr std::chrono::seconds kLongestDrain{2};

// Each board on a machine finds a free port, unless the user chose one.
std::unique_ptr<http::Server> listen(const app::BoardFlags& flags, http::Handler& handler) {
  http::ServerOptions options;
  options.address = flags.address;
  options.limits.body_bytes = 0;
  const int first = flags.port.value_or(kUsualPort);
  for (int port = first;; port = port == first + kPortsToTry ? 0 : port + 1) {
    options.port = port;
    try {
      return std::make_unique<http::Server>(options, handler);
    } catch (const IoError&) {
      if (flags.port || port == 0) throw;
    }
  }
}

std::string url_of(const app::BoardFlags& flags, int port) {
  const bool is_ipv6 = flags.address.find(':') != std::string::npos;
  return concat("http://", is_ipv6 ? "[" : "", flags.address, is_ipv6 ? "]" : "", ":", port, "/");
}

bool is_local(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

int serve(const app::BoardFlags& flags, std::ostream& out, std::ostream& err) {
  const std::string folder = flags.folder.empty() ? "runs" : flags.folder;
  // Without an argument it may be started before the first run.
  if (!flags.folder.empty() && !is_folder(folder)) {
    throw UsageError("DIR: expected a folder of runs, got '", folder, "', which is ",
                     path_exists(folder) ? "a file" : "not there");
  }
  // Threads that start later leave these signals to this one, which ends the board.
  const sigset_t signals = block_signals({SIGTERM, SIGINT, SIGHUP});
  Board board(folder);
  Service service(board, {.host_names = flags.allow_host, .events = {}});
  const std::unique_ptr<http::Server> server = listen(flags, service);
  if (!flags.quiet) {
    const size_t count = board.runs().at("runs").items().size();
    out << "pando-board: " << counted(static_cast<int64_t>(count), "run") << " in '" << folder
        << "' at " << url_of(flags, server->port()) << std::endl;
  }
  if (!is_local(flags.address)) {
    err << "pando-board: warning: everybody who reaches " << flags.address
        << " can see the runs; without --address only this machine can" << std::endl;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  server->drain(kLongestDrain);
  return app::kDone;
}

}  // namespace

int run_board(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  try {
    app::BoardFlags flags;
    CommonOptions common;
    OptionTable table;
    app::add_board_flags(table, flags);
    add_help_option(table, common);
    parse_command_line(table, common, args);
    if (common.help) {
      out << app::kBoardHelpHead << help_text(table);
      return app::kDone;
    }
    return serve(flags, out, err);
  } catch (const std::exception& error) {
    err << "pando-board: error: " << app::describe(error, false) << std::endl;
    const auto* own = dynamic_cast<const Error*>(&error);
    const bool is_usage = own != nullptr && own->kind() == ErrorKind::invalid_argument;
    return is_usage ? app::kUsage : app::exit_code_of(error);
  }
}

}  // namespace pando::board
