// The options of `pando validate`: the options of `pando train` that matter without training, and
// the weights to validate.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <ostream>
#include <span>
#include <string>

#include "pando/app/flags/train_options.h"

namespace pando::app {

// Parses arguments into the checked options of a run that only validates. Returns nothing after
// --help or --print-config, whose output goes to `out`. Throws UsageError.
std::optional<TrainOptions> parse_validate_options(std::span<const std::string> args,
                                                   std::ostream& out);

}  // namespace pando::app
