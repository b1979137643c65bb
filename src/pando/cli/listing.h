// Parses the flags of subcommands that list something: --json, --help and their own flags.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "pando/options/options.h"

namespace pando::cli {

enum class ListingForm { table, json, answered };  // answered: --help was printed

// `usage` is the beginning of the help text; `add_flags` adds the other flags of the subcommand.
// Throws UsageError for unknown flags.
ListingForm parse_listing_flags(std::span<const std::string> args, std::ostream& out,
                                std::string_view usage,
                                const std::function<void(OptionTable&)>& add_flags = {});

}  // namespace pando::cli
