// `pando man-pages DIR`: writes the manual: one page for the program and one for each command.
// SPDX-License-Identifier: MIT
#include <filesystem>
#include <span>

#include "pando/base/new_file.h"
#include "pando/cli/man_page.h"
#include "pando/cli/program.h"
#include "pando/cli/subcommands.h"
#include "pando/options/usage_error.h"

namespace pando::cli {
namespace {

void write_page(const std::filesystem::path& folder, const ManPage& page) {
  const std::string text = man_page(page);
  write_new_file((folder / (page.name + ".1")).string(), std::as_bytes(std::span(text)));
}

}  // namespace

int command_man_pages(std::span<const std::string> args, std::ostream& out) {
  if (args.size() != 1) throw UsageError("usage: pando man-pages DIR");
  const std::filesystem::path folder = args[0];
  std::filesystem::create_directories(folder);
  write_page(folder, {.name = "pando",
                      .summary = "train convolutional networks on CPUs",
                      .version = PANDO_VERSION,
                      .help = read_help(program_help())});
  const auto write_all = [&](std::span<const Subcommand> commands, const std::string& prefix) {
    for (const Subcommand& command : commands) {
      if (command.summary == nullptr) continue;
      write_page(folder, {.name = prefix + command.name,
                          .summary = command.summary,
                          .version = PANDO_VERSION,
                          .help = read_help(help_of(command))});
    }
  };
  write_all(subcommands(), "pando-");
  write_all(data_verbs(), "pando-data-");
  out << "wrote the manual pages to " << folder.string() << "\n";
  return 0;
}

}  // namespace pando::cli
