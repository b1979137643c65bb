// The options of `pando validate`: those of `pando train` that a run without training has, and what
// is to be validated.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <ostream>
#include <span>
#include <string>

#include "pando/app/flags/train_options.h"

namespace pando::app {

// From arguments to the checked options of a run that only validates. Gives nothing when --help or
// --print-config was asked for and is answered on `out`. Throws UsageError.
std::optional<TrainOptions> parse_validate_options(std::span<const std::string> args,
                                                   std::ostream& out);

}  // namespace pando::app
