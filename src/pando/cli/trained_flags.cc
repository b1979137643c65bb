// SPDX-License-Identifier: MIT
#include "pando/cli/trained_flags.h"

#include <algorithm>
#include <array>
#include <vector>

#include "pando/app/flags/find_dataset.h"

namespace pando::cli {

namespace {

constexpr std::array kNetworkFlags = {"model",        "norm-layer", "dataset", "image-size",
                                      "weights",      "config",     "set",     "config-path",
                                      "print-config", "help"};

}  // namespace

void TrainFlagTable::add() {
  const size_t own = table.options().size();
  app::add_train_options(table, options);
  add_common_options(table, common);
  size_t i = 0;
  std::vector<std::string> hidden;
  for (const Option& option : table.options()) {
    const bool shown =
        i++ < own || std::ranges::find(kNetworkFlags, option.name) != kNetworkFlags.end();
    if (!shown) hidden.push_back(option.name);
  }
  for (const std::string& name : hidden) table.find(name, "").hidden = true;
  table.find("weights", "").help = "the weights of the network, if WHAT does not name them";
}

bool TrainFlagTable::parse(std::span<const std::string> args, std::ostream& out,
                           const std::string& help_head) {
  parse_command_line(table, common, args);
  if (common.help) {
    out << help_head << help_text(table);
    return false;
  }
  if (table.find_exact("dataset")->origin.kind == Origin::Kind::built_in) {
    options.data.dataset = app::dataset_of_model(options.model).value_or(options.data.dataset);
  }
  if (common.print_config) {
    out << config_text(table);
    return false;
  }
  return true;
}

void add_checkpoint_choice(OptionTable& table, app::WhichCheckpoint& which) {
  using app::WhichCheckpoint;
  table.add_choice("checkpoint", which,
                   {{"auto", WhichCheckpoint::best_or_newest},
                    {"best", WhichCheckpoint::best},
                    {"newest", WhichCheckpoint::newest}},
                   "which checkpoint of a run: the one that --keep-best kept, the newest, or the "
                   "best if there is one and the newest otherwise");
}

}  // namespace pando::cli
