// SPDX-License-Identifier: MIT
#include "pando/cli/listing.h"

#include "pando/options/command_line.h"

namespace pando::cli {

ListingForm parse_listing_flags(std::span<const std::string> args, std::ostream& out,
                                std::string_view usage,
                                const std::function<void(OptionTable&)>& add_flags) {
  CommonOptions common;
  OptionTable table;
  bool as_json = false;
  table.begin_group("Flags");
  if (add_flags) add_flags(table);
  table.add("json", as_json, "print JSON");
  add_help_option(table, common);
  parse_command_line(table, common, args);
  if (common.help) {
    out << usage << help_text(table);
    return ListingForm::answered;
  }
  return as_json ? ListingForm::json : ListingForm::table;
}

}  // namespace pando::cli
