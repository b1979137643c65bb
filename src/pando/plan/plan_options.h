// The options of `pando plan`: those of `pando train` that say what is trained, and what it is to
// be spread over. SPDX-License-Identifier: MIT
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
  std::string plot;                      // a file for the picture; empty: none
  std::vector<std::string> train_flags;  // of the command line, to be repeated for `pando train`

  PlanRequest request() const;
  std::string network_name() const;  // "given" when numbers take the place of a named one
};

// Gives nothing when --help was asked for and is answered on `out`. Throws UsageError.
std::optional<PlanOptions> parse_plan_options(std::span<const std::string> args, std::ostream& out);

}  // namespace pando::plan
