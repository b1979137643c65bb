// The options of `pando plan`: the options of `pando train` that describe what is trained, and the
// instances and network to train on.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "pando/app/flags/train_options.h"
#include "pando/plan/search.h"

namespace pando::plan {

struct PlanOptions {
  app::TrainOptions train;
  int instances = 8;
  int instances_per_host = 1;
  std::string network = "10gbe";
  std::optional<Bandwidth> bandwidth;
  std::optional<Latency> latency;
  std::vector<ByteSize> bucket_sizes;
  double measure_seconds = 3;
  int top = 5;
  bool json = false;
  std::string plot;                      // file for the picture; empty: no picture
  std::vector<std::string> train_flags;  // from the command line, to be repeated for `pando train`

  PlanRequest request() const;
  std::string network_name() const;  // "given" if --bandwidth or --latency replaces a named network
};

// Returns nothing if --help was given, after printing the help to `out`. Throws UsageError.
std::optional<PlanOptions> parse_plan_options(std::span<const std::string> args, std::ostream& out);

}  // namespace pando::plan
