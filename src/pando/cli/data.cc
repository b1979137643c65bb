// `pando data`: the table of its verbs.
// SPDX-License-Identifier: MIT
#include <vector>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/strings.h"
#include "pando/cli/data_verbs.h"
#include "pando/cli/program.h"
#include "pando/cli/subcommands.h"
#include "pando/options/command_line.h"

namespace pando::cli {
namespace {

// The only list of verbs.
constexpr Subcommand kVerbs[] = {
    {"list", "list the data sets, and where they are", data_list},
    {"fetch", "download a data set", data_fetch, "NAME"},
    {"verify", "read all of a data set and list what is wrong", data_verify, "NAME [PATH]"},
    {"benchmark", "measure how fast samples become batches", data_benchmark, "NAME [PATH]"},
    {"show", "write a picture of samples and their labels", data_show, "NAME [PATH]"},
    {"build-imagenet", "make record files from the folders of ILSVRC2012", data_build_imagenet,
     "SOURCE DIR"},
    {"make-cifar10", "make a small data set in the format of CIFAR-10", data_make_cifar10, "DIR"},
    {"make-cosmoflow", "make small volumes in the format of CosmoFlow", data_make_cosmoflow, "DIR"},
    {"make-imagenet", "make pictures in the record files of ImageNet", data_make_imagenet, "DIR"},
    {"make-shapes", "make pictures of shapes with masks, for segmentation", data_make_shapes,
     "DIR"},
};

void print_data_help(std::ostream& out) {
  out << "usage: pando data <verb> [words] [flags]\n\n"
         "Gets, makes, checks, measures and shows data sets.\n\nverbs:\n";
  for (const Subcommand& verb : kVerbs) {
    out << fmt::format("  {:<30} {}\n", fmt::format("{} {}", verb.name, verb.words), verb.summary);
  }
  out << "\nSee 'pando data <verb> --help'.\n";
}

const Subcommand& find_verb(const std::string& name) {
  std::vector<std::string> known;
  for (const Subcommand& verb : kVerbs) {
    if (name == verb.name) return verb;
    known.emplace_back(verb.name);
  }
  throw UsageError("data: ", unknown_name_message("verb", name, known));
}

}  // namespace

std::span<const Subcommand> data_verbs() { return kVerbs; }

bool parse_verb(Arguments args, std::ostream& out, std::string_view usage,
                const std::function<void(OptionTable&)>& add_flags) {
  CommonOptions common;
  OptionTable table;
  table.begin_group("Flags");
  add_flags(table);
  add_help_option(table, common);
  parse_command_line(table, common, args);
  if (common.help) out << usage << help_text(table);
  return !common.help;
}

int command_data(std::span<const std::string> args, std::ostream& out) {
  const bool asks = args.empty() || args[0] == "--help" || args[0] == "-h" || args[0] == "help";
  if (!asks) return find_verb(args[0]).run(args.subspan(1), out);
  if (args.size() > 1) {
    const std::vector<std::string> ask_help = {"--help"};
    return find_verb(args[1]).run(ask_help, out);
  }
  print_data_help(out);
  return app::kDone;
}

}  // namespace pando::cli
