// The flags of subcommands that list something: --json, --help and their own.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "pando/options/options.h"

namespace pando::cli {

enum class ListingForm { table, json, answered };  // answered: --help was, nothing is left to do

// `usage` heads the help text; `add_flags` adds what else the subcommand takes. Throws UsageError
// for other flags.
ListingForm parse_listing_flags(std::span<const std::string> args, std::ostream& out,
                                std::string_view usage,
                                const std::function<void(OptionTable&)>& add_flags = {});

}  // namespace pando::cli
