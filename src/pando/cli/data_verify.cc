// `pando data verify`: reads all of a data set and lists what is wrong.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/json.h"
#include "pando/base/strings.h"
#include "pando/cli/data_verbs.h"
#include "pando/datasets/all_datasets.h"
#include "pando/datasets/tools/verify.h"
#include "pando/fetch/origin.h"

namespace pando::cli {
namespace {

constexpr size_t kMostClassesPrinted = 20;
constexpr size_t kMostFilesPrinted = 40;

const char* text_of(FileOrigin origin) {
  switch (origin) {
    case FileOrigin::official: return "official file";
    case FileOrigin::other: return "not the official file";
    case FileOrigin::unknown: break;
  }
  return "";
}

std::string counted(int64_t count, const char* what) {
  return fmt::format("{} {}{}", with_thousands(count), what, count == 1 ? "" : "s");
}

void print_parts(const VerifyReport& report, std::ostream& out) {
  for (const VerifiedPart& part : report.parts) {
    double bytes = 0;
    int64_t files = 0;
    bool are_folders = false;
    for (const VerifiedFile& file : report.files) {
      if (file.part != part.name) continue;
      bytes += static_cast<double>(file.bytes);
      are_folders = file.is_folder;
      ++files;
    }
    out << fmt::format("  {:<10} {:>19} {:>10}  in {}\n", part.name,
                       counted(part.samples, "sample"), human_bytes(bytes),
                       counted(files, are_folders ? "folder" : "file"));
  }
}

// Prints all files or, if there are many, the parts and the files with bad records.
void print_files(const VerifyReport& report, std::ostream& out) {
  const bool many = report.files.size() > kMostFilesPrinted;
  if (many) print_parts(report, out);
  for (const VerifiedFile& file : report.files) {
    if (many && file.bad == 0) continue;
    std::string remark = file.bad > 0 ? fmt::format("  {} bad", with_thousands(file.bad)) : "";
    if (file.origin != FileOrigin::unknown) remark += fmt::format("  ({})", text_of(file.origin));
    out << fmt::format("  {:<10} {:>19} {:>10}  {}{}\n", file.part, counted(file.samples, "sample"),
                       human_bytes(static_cast<double>(file.bytes)), file.path, remark);
  }
}

std::string class_name(const VerifyReport& report, size_t label) {
  return label < report.classes.size() ? report.classes[label] : "";
}

void print_classes(const VerifyReport& report, std::ostream& out) {
  size_t classes = 0;
  for (const VerifiedPart& part : report.parts) classes = std::max(classes, part.per_class.size());
  if (classes == 0) return;
  if (classes > kMostClassesPrinted) {
    for (const VerifiedPart& part : report.parts) {
      if (part.per_class.empty()) continue;
      const auto [least, most] = std::ranges::minmax(part.per_class);
      out << fmt::format("{}: {} classes with {} to {} {} each\n", part.name, part.per_class.size(),
                         with_thousands(least), with_thousands(most), report.counted);
    }
    return;
  }
  out << fmt::format("{:<24}",
                     report.counted == "samples" ? "class" : "class, in " + report.counted);
  for (const VerifiedPart& part : report.parts) out << fmt::format(" {:>12}", part.name);
  out << "\n";
  for (size_t label = 0; label < classes; ++label) {
    out << fmt::format("{:<24}", fmt::format("{:>4} {}", label, class_name(report, label)));
    for (const VerifiedPart& part : report.parts) {
      const int64_t count = label < part.per_class.size() ? part.per_class[label] : 0;
      out << fmt::format(" {:>12}", with_thousands(count));
    }
    out << "\n";
  }
}

void print_text(const VerifyReport& report, std::ostream& out) {
  out << fmt::format("{} in {}\n", report.format, report.path);
  print_files(report, out);
  print_classes(report, out);
  for (const VerifiedPart& part : report.parts) {
    if (part.official == 0 || part.samples != part.official) continue;
    out << fmt::format("{}: {} samples, as in the official data set\n", part.name,
                       with_thousands(part.samples));
  }
  for (const std::string& note : report.notes) out << "note: " << note << "\n";
  for (const BadRecord& record : report.bad) out << "bad: " << to_string(record) << "\n";
  const int64_t unlisted = report.bad_count - static_cast<int64_t>(report.bad.size());
  if (unlisted > 0) {
    out << fmt::format("bad: and {} more (--most lists more)\n", with_thousands(unlisted));
  }
  out << fmt::format("{}: {}, {}, {} read\n", report.good() ? "all is well" : "NOT GOOD",
                     counted(report.samples(), "good sample"),
                     counted(report.bad_count, "bad record"),
                     human_bytes(static_cast<double>(report.bytes())));
}

Json to_json(const VerifyReport& report) {
  Json parts = Json::array();
  for (const VerifiedPart& part : report.parts) {
    parts.push_back({{"name", part.name},
                     {"samples", part.samples},
                     {"official", part.official == 0 ? Json() : Json(part.official)},
                     {"per_class", part.per_class}});
  }
  Json files = Json::array();
  for (const VerifiedFile& file : report.files) {
    files.push_back({{"path", file.path},
                     {"part", file.part},
                     {"bytes", file.bytes},
                     {"samples", file.samples},
                     {"bad", file.bad},
                     {"official", file.origin == FileOrigin::unknown
                                      ? Json()
                                      : Json(file.origin == FileOrigin::official)}});
  }
  Json bad = Json::array();
  for (const BadRecord& record : report.bad) {
    bad.push_back({{"file", record.file}, {"offset", record.offset}, {"why", record.why}});
  }
  return {{"data_set", report.format},
          {"path", report.path},
          {"good", report.good()},
          {"samples", report.samples()},
          {"bytes", report.bytes()},
          {"parts", parts},
          {"classes", report.classes},
          {"counted", report.counted},
          {"files", files},
          {"bad_count", report.bad_count},
          {"bad", bad},
          {"notes", report.notes}};
}

}  // namespace

int data_verify(Arguments args, std::ostream& out) {
  std::string name;
  std::string path;
  VerifyOptions options{.workers = default_workers()};
  int64_t most = static_cast<int64_t>(options.most_bad);
  bool json = false;
  const bool go = parse_verb(
      args, out,
      "usage: pando data verify NAME [PATH] [flags]\n\n"
      "Reads all files of a data set: sizes, headers, checksums of records, labels, every image. "
      "Lists every\nbad record with file and offset; the exit code is 1 when there is one.\n\n" +
          dataset_list(),
      [&](OptionTable& table) {
        table.add_positional("NAME", name, "the data set");
        table.add_positional("PATH", path, "the folder or file of the data set", false);
        table.add("workers", options.workers, "threads; the output is the same for any number")
            .with_hint("N")
            .at_least(1);
        table.add("most", most, "bad records to list; the others are only counted")
            .with_hint("N")
            .at_least(0);
        table.add("official", options.official,
                  "counts or files that differ from the official ones are bad, too");
        table.add("json", json, "print JSON");
      });
  if (!go) return app::kDone;
  options.most_bad = static_cast<size_t>(most);
  const DatasetRecord& record = dataset_record(name);
  if (record.remote) {
    options.origin_of = [&record](const std::string& file) {
      return fetch::origin_of(*record.remote, file);
    };
  }
  const VerifyReport report = verify_dataset(name, place_of(record, path), options);
  if (json) {
    // Paths may hold bytes that are not UTF-8.
    out << to_json(report).dump(2) << "\n";
  } else {
    print_text(report, out);
  }
  return report.good() ? app::kDone : app::kFailed;
}

}  // namespace pando::cli
