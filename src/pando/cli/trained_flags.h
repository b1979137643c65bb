// Flags of the subcommands that use networks which are trained already.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <span>
#include <string>

#include "pando/app/flags/train_options.h"
#include "pando/app/run/trained_model.h"

namespace pando::cli {

// The flags of `pando train`, of which only those of the network and its data are shown. The table
// points into the object.
struct TrainFlagTable {
  TrainFlagTable() = default;
  TrainFlagTable(const TrainFlagTable&) = delete;
  TrainFlagTable& operator=(const TrainFlagTable&) = delete;

  void add();  // after the flags of the subcommand
  // False after --help. Throws UsageError.
  bool parse(std::span<const std::string> args, std::ostream& out, const std::string& help_head);

  app::TrainOptions options;
  CommonOptions common;
  OptionTable table;
};

// --checkpoint best|newest.
void add_checkpoint_choice(OptionTable& table, app::WhichCheckpoint& which);

}  // namespace pando::cli
