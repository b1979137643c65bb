// `pando data list` and `pando data fetch`: the data sets that Pando knows, and downloading them.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iostream>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "pando/app/job/exit_code.h"
#include "pando/app/job/stop_signal.h"
#include "pando/base/strings.h"
#include "pando/cli/data_verbs.h"
#include "pando/cli/listing.h"
#include "pando/fetch/fetch.h"
#include "pando/fetch/folders.h"
#include "pando/train/progress.h"

namespace pando::cli {
namespace {

using fetch::DatasetEntry;
using fetch::OwnDataset;

void add_folder(OptionTable& table, std::string& folder) {
  table
      .add("folder", folder,
           "holds a folder for each data set (default: $PANDO_DATA, or pando in $XDG_DATA_HOME, or "
           "~/.local/share/pando)")
      .with_hint("DIR");
}

std::string count_text(int64_t count) { return count == 0 ? "-" : with_thousands(count); }

void print_table(std::ostream& out, const std::string& folder) {
  const auto row = [&out](const auto&... cells) {
    out << fmt::format("{:<14} {:>9} {:>7} {:<14} {:>7} {:>10}  {}\n", cells...);
  };
  row("data set", "train", "test", "shape", "classes", "download", "where");
  for (const DatasetEntry& entry : fetch::catalog()) {
    const std::optional<std::string> here = fetch::find_here(entry, folder);
    row(entry.name, count_text(entry.train), count_text(entry.test), entry.shape,
        count_text(entry.classes), human_bytes(static_cast<double>(fetch::download_bytes(entry))),
        here ? *here : "not here: pando data fetch " + entry.name);
  }
  for (const OwnDataset& own : fetch::own_datasets()) {
    row(own.name, count_text(own.train), count_text(own.test), own.shape, count_text(own.classes),
        "-", "bring your own: " + own.how);
  }
}

nlohmann::ordered_json to_json(const DatasetEntry& entry, const std::string& folder) {
  const std::optional<std::string> here = fetch::find_here(entry, folder);
  auto files = nlohmann::ordered_json::array();
  for (const fetch::RemoteFile& file : entry.files) {
    files.push_back({{"name", file.name},
                     {"bytes", file.bytes},
                     {"sha256", file.sha256},
                     {"addresses", file.addresses}});
  }
  return {{"name", entry.name},
          {"title", entry.title},
          {"licence", entry.licence},
          {"homepage", entry.homepage},
          {"train", entry.train},
          {"test", entry.test},
          {"shape", entry.shape},
          {"classes", entry.classes},
          {"download_bytes", fetch::download_bytes(entry)},
          {"path", here ? nlohmann::ordered_json(*here) : nlohmann::ordered_json()},
          {"files", files}};
}

void print_json(std::ostream& out, const std::string& folder) {
  auto list = nlohmann::ordered_json::array();
  for (const DatasetEntry& entry : fetch::catalog()) list.push_back(to_json(entry, folder));
  for (const OwnDataset& own : fetch::own_datasets()) {
    list.push_back({{"name", own.name},
                    {"title", own.title},
                    {"train", own.train},
                    {"test", own.test},
                    {"shape", own.shape},
                    {"classes", own.classes},
                    {"how", own.how}});
  }
  // Paths may hold bytes that are not UTF-8.
  out << list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

}  // namespace

int data_list(Arguments args, std::ostream& out) {
  std::string folder;
  const ListingForm form = parse_listing_flags(
      args, out,
      "usage: pando data list [flags]\n\n"
      "Lists the data sets that Pando reads: their size, what a download costs and where they "
      "are.\n\n",
      [&](OptionTable& table) { add_folder(table, folder); });
  if (form == ListingForm::json) print_json(out, folder);
  if (form == ListingForm::table) print_table(out, folder);
  return app::kDone;
}

int data_fetch(Arguments args, std::ostream& out) {
  std::string name;
  fetch::FetchOptions options;
  const bool go = parse_verb(
      args, out,
      "usage: pando data fetch NAME [flags]\n\n"
      "Downloads a data set ('pando data list' has the names), checks and unpacks it. What is "
      "there is not\nfetched again; what was interrupted goes on where it ended.\n\n",
      [&](OptionTable& table) {
        table.add_positional("NAME", name, "the data set");
        add_folder(table, options.folder);
        table.add("mirror", options.mirror, "take the files from below this address instead")
            .with_hint("ADDRESS");
        table.add("retries", options.retry.retries, "further rounds over all addresses")
            .with_hint("N")
            .at_least(0);
        table.add("force", options.force, "fetch again what is there");
      });
  if (!go) return app::kDone;
  const DatasetEntry& entry = fetch::entry(name);
  const app::StopSignal signal("\nstopping; another signal ends at once\n");
  options.stop = &signal.wanted();
  options.out = &out;
  options.is_terminal = &out == &std::cout && train::standard_progress(1).is_terminal;
  out << fmt::format("{}: {}, {} ({}; {})\n", entry.name, entry.title,
                     human_bytes(static_cast<double>(fetch::download_bytes(entry))), entry.homepage,
                     entry.licence);
  fetch::fetch_dataset(entry, options);
  return app::kDone;
}

}  // namespace pando::cli
