// `pando data list` and `pando data fetch`: the data sets that Pando knows, and downloading them.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iostream>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/job/stop_signal.h"
#include "pando/base/json.h"
#include "pando/base/strings.h"
#include "pando/cli/data_verbs.h"
#include "pando/cli/listing.h"
#include "pando/datasets/all_datasets.h"
#include "pando/datasets/find_files.h"
#include "pando/fetch/fetch.h"
#include "pando/fetch/transfer.h"
#include "pando/train/progress.h"

namespace pando::cli {
namespace {

void add_folder(OptionTable& table, std::string& folder) {
  table
      .add("folder", folder,
           "holds a folder for each data set (default: $PANDO_DATA, or pando in $XDG_DATA_HOME, or "
           "~/.local/share/pando)")
      .with_hint("DIR");
}

std::string count_text(int64_t count) { return count == 0 ? "-" : with_thousands(count); }

// Where data sets that are not here were searched for.
void print_places(std::ostream& out, const std::string& folder) {
  std::string lines;
  for (const DatasetRecord& record : all_datasets()) {
    const std::vector<std::string> places = search_places(record, folder);
    if (!record.is_listed() || places.empty() || find_files(record, folder)) continue;
    lines += fmt::format("  {:<14} {}\n", record.name, join(places, ", "));
  }
  if (!lines.empty()) out << "\nlooked for the others in\n" << lines;
}

void print_table(std::ostream& out, const std::string& folder) {
  const auto row = [&out](const auto&... cells) {
    out << fmt::format("{:<14} {:>9} {:>7} {:<14} {:>7} {:>10}  {}\n", cells...);
  };
  row("data set", "train", "test", "shape", "classes", "download", "where");
  for (const DatasetRecord& record : all_datasets()) {
    if (!record.is_listed()) continue;
    std::string download = "-";
    std::string how = "bring your own: " + record.how;
    if (record.remote) {
      download = human_bytes(static_cast<double>(fetch::download_bytes(*record.remote)));
      how = "not here: pando data fetch " + record.name;
    }
    const std::string where = find_files(record, folder).value_or(how);
    row(record.name, count_text(record.train), count_text(record.test), shape_text(record),
        count_text(record.classes.value_or(0)), download, where);
  }
  print_places(out, folder);
}

Json to_json(const DatasetRecord& record, const std::string& folder) {
  Json json = {{"name", record.name}, {"title", record.title}};
  if (record.remote) {
    json["licence"] = record.remote->licence;
    json["homepage"] = record.remote->homepage;
  }
  json["train"] = record.train;
  json["test"] = record.test;
  json["shape"] = shape_text(record);
  json["classes"] = record.classes.value_or(0);
  const std::optional<std::string> here = find_files(record, folder);
  json["path"] = here ? Json(*here) : Json();
  json["searched"] = search_places(record, folder);
  if (!record.remote) {
    json["how"] = record.how;
    return json;
  }
  Json files = Json::array();
  for (const fetch::RemoteFile& file : record.remote->files) {
    files.push_back({{"name", file.name},
                     {"bytes", file.bytes},
                     {"sha256", file.sha256},
                     {"addresses", file.addresses}});
  }
  json["download_bytes"] = fetch::download_bytes(*record.remote);
  json["files"] = std::move(files);
  return json;
}

void print_json(std::ostream& out, const std::string& folder) {
  Json list = Json::array();
  for (const DatasetRecord& record : all_datasets()) {
    if (record.is_listed()) list.push_back(to_json(record, folder));
  }
  // Paths may hold bytes that are not UTF-8.
  out << list.dump(2) << "\n";
}

}  // namespace

int data_list(Arguments args, std::ostream& out) {
  std::string folder;
  const ListingForm form = parse_listing_flags(
      args, out,
      "usage: pando data list [flags]\n\n"
      "Lists the data sets that Pando reads: their sizes, the size of the download and where "
      "they are. Without --folder\nit also looks for a folder of each data set in "
      "$DATASETS_DIR.\n\n",
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
      "Downloads a data set ('pando data list' has the names), checks and unpacks it. Files that "
      "are there are not\nfetched again; an interrupted download resumes where it ended.\n\n",
      [&](OptionTable& table) {
        table.add_positional("NAME", name, "the data set");
        add_folder(table, options.folder);
        table.add("mirror", options.mirror, "download the files from this address instead")
            .with_hint("ADDRESS");
        table.add("retries", options.retry.retries, "further attempts at all addresses")
            .with_hint("N")
            .at_least(0);
        table.add("force", options.force, "fetch files even if they are there");
      });
  if (!go) return app::kDone;
  if (!options.mirror.empty() && !fetch::is_address(options.mirror)) {
    throw UsageError("--mirror: expected http://..., https://... or file:///..., got '",
                     options.mirror, "'");
  }
  const DatasetRecord& record = fetchable_dataset(name);
  const fetch::RemoteDataset& remote = *record.remote;
  const app::StopSignal signal("\nstopping; another signal, after a second, ends at once\n");
  options.stop = &signal.wanted();
  options.out = &out;
  options.is_terminal = &out == &std::cout && train::standard_progress(1).is_terminal;
  out << fmt::format("{}: {}, {} ({}; {})\n", record.name, record.title,
                     human_bytes(static_cast<double>(fetch::download_bytes(remote))),
                     remote.homepage, remote.licence);
  fetch::fetch_dataset(remote, options);
  return app::kDone;
}

}  // namespace pando::cli
