// SPDX-License-Identifier: MIT
#include "pando/app/html/run_report.h"

#include <algorithm>

#include "pando/app/html/class_data.h"
#include "pando/app/html/curve_data.h"
#include "pando/app/html/load_data.h"
#include "pando/app/html/profile_data.h"
#include "pando/app/html/summary_data.h"
#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/pages/page.h"

namespace pando::app {
namespace {

// A script uses only those before it.
constexpr std::string_view kReportScripts[] = {
    "summary.js", "drawing.js",  "sheet.js",    "confusion.js", "tasks.js", "input.js", "gantt.js",
    "time.js",    "roofline.js", "schedule.js", "memory.js",    "graph.js", "report.js"};

std::string title_of(std::span<const RunRecord> runs) {
  constexpr size_t kMostNamed = 3;
  std::vector<std::string> names;
  for (const RunRecord& run : runs.first(std::min(runs.size(), kMostNamed))) {
    names.push_back(run.name);
  }
  const std::string more = runs.size() > kMostNamed ? ", ..." : "";
  return concat(join(names, ", "), more, " · Pando");
}

Json details_of(RunRecord& run) {
  return {{"classes", class_data(run)}, {"input", input_data(run)}, {"profile", profile_data(run)}};
}

}  // namespace

std::string run_report_html(std::span<const RunRecord> given, const RunReportOptions& options) {
  PANDO_CHECK(!given.empty());
  std::vector<RunRecord> runs(given.begin(), given.end());
  Json details = Json::array(), summaries = Json::array();
  for (size_t i = 0; i < std::min(runs.size(), options.most_detailed_runs); ++i) {
    details.push_back(details_of(runs[i]));
  }
  for (const RunRecord& run : runs) summaries.push_back(run_summary(run));
  const Json data = {{"runs", std::move(summaries)},
                     {"details", std::move(details)},
                     {"differing", differing_options(runs)},
                     {"charts", curve_charts(runs)},
                     {"load", load_charts(runs)}};
  return pages::page_html({.title = options.title.empty() ? title_of(runs) : options.title,
                           .scripts = {std::begin(kReportScripts), std::end(kReportScripts)},
                           .data = data.dump()});
}

std::string run_report_html(const std::vector<std::filesystem::path>& folders,
                            const RunReportOptions& options) {
  std::vector<RunRecord> runs;
  for (const std::filesystem::path& folder : folders) runs.push_back(read_run(folder));
  return run_report_html(runs, options);
}

}  // namespace pando::app
