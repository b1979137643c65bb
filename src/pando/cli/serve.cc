// `pando serve` and `pando request`: start the program pando-serve, which is built and installed
// apart.
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <unistd.h>

#include "pando/app/flags/request_flags.h"
#include "pando/app/flags/serve_flags.h"
#include "pando/cli/program.h"
#include "pando/cli/trained_flags.h"
#include "pando/options/command_line.h"
#include "pando/options/usage_error.h"

namespace pando::cli {
namespace {

// Beside this program, or where the package puts it.
std::vector<std::filesystem::path> server_places() {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder = own.parent_path();
  return {folder / "pando-serve", folder.parent_path() / "libexec/pando/pando-serve"};
}

// Replaces this program.
[[noreturn]] void start_server_program(std::span<const std::string> args) {
  for (const std::filesystem::path& place : server_places()) {
    if (::access(place.c_str(), X_OK) != 0) continue;
    std::vector<std::string> words = {place.string()};
    words.insert(words.end(), args.begin(), args.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(place.c_str(), arguments.data());
    throw IoError("cannot start '", place.string(), "': ", std::strerror(errno));
  }
  throw IoError("the server is not built: there is no '", server_places()[0].string(),
                "'; run './pando build serve' in the sources, or install the package pando-serve");
}

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
  start_server_program(args);
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
  start_server_program(words);
}

}  // namespace pando::cli
