// `pando serve` and `pando request`: start the program pando-serve, which is built and installed
// apart.
// SPDX-License-Identifier: MIT
#include <vector>

#include "pando/app/flags/request_flags.h"
#include "pando/app/flags/serve_flags.h"
#include "pando/cli/other_program.h"
#include "pando/cli/program.h"
#include "pando/cli/trained_flags.h"
#include "pando/options/command_line.h"
#include "pando/options/usage_error.h"

namespace pando::cli {
namespace {

const OtherProgram kServer = {.name = "pando-serve", .what = "the server", .target = "serve"};

}  // namespace

int command_serve(std::span<const std::string> args, std::ostream& out) {
  app::ServeFlags flags;
  CommonOptions common;
  OptionTable table;
  app::add_serve_flags(table, flags);
  add_common_options(table, common);
  parse_command_line(table, common, args);
  if (common.help) {
    out << app::kServeHelpHead << help_text(table);
    return 0;
  }
  out.flush();
  start_other_program(kServer, args);
}

int command_request(std::span<const std::string> args, std::ostream& out) {
  app::RequestFlags flags;
  TrainFlagTable train;
  app::add_request_flags(train.table, flags);
  train.add();
  if (!train.parse(args, out, app::kRequestHelpHead)) return 0;
  out.flush();
  std::vector<std::string> words = {"request"};
  words.insert(words.end(), args.begin(), args.end());
  start_other_program(kServer, words);
}

}  // namespace pando::cli
