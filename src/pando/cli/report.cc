// `pando report`: what a run left, as one page to read.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <fmt/core.h>

#include "pando/app/html/run_report.h"
#include "pando/app/job/exit_code.h"
#include "pando/base/new_file.h"
#include "pando/base/strings.h"
#include "pando/cli/program.h"
#include "pando/options/command_line.h"
#include "pando/options/output_place.h"

namespace pando::cli {

namespace {

constexpr const char* kReportHelpHead = R"(usage: pando report RUN [RUN...] [flags]

Writes one HTML file about a run, or about several over each other: results, curves, mistakes with
their pictures, where time and memory went. RUN is the directory of a run. The file needs no network
and no other file. What a run did not record is left out: --profile of `pando train` adds time and
memory. --report of `pando train` writes the same file at the end of the run.

examples:
  pando report runs/flowers
  pando report runs/small runs/large -o compared.html

exit codes: 0 done, 1 failed, 2 wrong flag or not the directory of a run.

)";

std::vector<app::RunRecord> read_runs(const std::vector<std::string>& folders) {
  std::vector<app::RunRecord> runs;
  for (const std::string& folder : folders) {
    try {
      runs.push_back(app::read_run(folder));
    } catch (const IoError& error) {
      throw UsageError("RUN: ", error.what());
    }
  }
  return runs;
}

}  // namespace

int command_report(std::span<const std::string> args, std::ostream& out) {
  std::vector<std::string> folders;
  std::string output;
  CommonOptions common;
  OptionTable table;
  table.add_positionals("RUN", folders, "the directory of a run");
  table.begin_group("Flags");
  table
      .add("output", output,
           "the file to write; by default report.html, in the directory of the run if there is "
           "only one, otherwise in the current folder")
      .with_hint("FILE");
  add_help_option(table, common);
  parse_command_line(table, common, args);
  if (common.help) {
    out << kReportHelpHead << help_text(table);
    return app::kDone;
  }
  if (!output.empty()) check_output_file("--output", output);
  const std::vector<app::RunRecord> runs = read_runs(folders);
  if (output.empty()) {
    output = runs.size() == 1 ? (runs[0].folder / "report.html").string() : "report.html";
  }
  const std::string html = app::run_report_html(runs);
  write_new_file(output, std::as_bytes(std::span(html)));
  out << fmt::format("{} ({})\n", output, human_bytes(static_cast<double>(html.size())));
  return app::kDone;
}

}  // namespace pando::cli
