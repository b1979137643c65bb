// SPDX-License-Identifier: MIT
#include "pando/cli/listing.h"

#include "pando/app/command_line.h"

namespace pando::cli {

ListingForm parse_listing_flags(std::span<const std::string> args, std::ostream& out,
                                std::string_view usage,
                                const std::function<void(app::OptionTable&)>& add_flags) {
  app::CommonOptions common;
  app::OptionTable table;
  bool as_json = false;
  table.begin_group("Flags");
  if (add_flags) add_flags(table);
  table.add("json", as_json, "print JSON");
  app::add_help_option(table, common);
  app::parse_command_line(table, common, args);
  if (common.help) {
    out << usage << app::help_text(table);
    return ListingForm::answered;
  }
  return as_json ? ListingForm::json : ListingForm::table;
}

}  // namespace pando::cli
