// The flags of subcommands that list something: --json and --help.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace pando::cli {

enum class ListingForm { table, json, answered };  // answered: --help was, nothing is left to do

// `usage` heads the help text. Throws UsageError for other flags.
ListingForm parse_listing_flags(std::span<const std::string> args, std::ostream& out,
                                std::string_view usage);

}  // namespace pando::cli
