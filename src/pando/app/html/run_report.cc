// SPDX-License-Identifier: MIT
#include "pando/app/html/run_report.h"

#include "pando/app/html/curve_data.h"
#include "pando/app/html/summary_data.h"
#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/pages/page.h"

namespace pando::app {
namespace {

std::string title_of(std::span<const RunRecord> runs) {
  constexpr size_t kMostNamed = 3;
  std::vector<std::string> names;
  for (const RunRecord& run : runs.first(std::min(runs.size(), kMostNamed))) {
    names.push_back(run.name);
  }
  const std::string more = runs.size() > kMostNamed ? ", ..." : "";
  return concat(join(names, ", "), more, " · Pando");
}

}  // namespace

std::string run_report_html(std::span<const RunRecord> runs, const RunReportOptions& options) {
  PANDO_CHECK(!runs.empty());
  Json summaries = Json::array();
  for (const RunRecord& run : runs) summaries.push_back(run_summary(run));
  const Json data = {{"runs", std::move(summaries)},
                     {"differing", differing_options(runs)},
                     {"charts", curve_charts(runs)}};
  return pages::page_html({.title = options.title.empty() ? title_of(runs) : options.title,
                           .scripts = {"summary.js", "report.js"},
                           .data = data.dump()});
}

std::string run_report_html(const std::vector<std::filesystem::path>& folders,
                            const RunReportOptions& options) {
  std::vector<RunRecord> runs;
  for (const std::filesystem::path& folder : folders) runs.push_back(read_run(folder));
  return run_report_html(runs, options);
}

}  // namespace pando::app
