// The report on one run or several as one HTML file: results, curves, mistakes, time and memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pando/app/html/run_record.h"

namespace pando::app {

struct RunReportOptions {
  std::string title = {};  // empty: the names of the runs
  // More runs are compared by results, options and curves alone, so that the file stays small.
  size_t most_detailed_runs = 4;
};

// Everything comes from the files in the directories of the runs and in the folders of --profile
// that these name; nothing is written. What a run did not record is left out, and the page says
// which flag records it. Requires: runs is not empty.
std::string run_report_html(std::span<const RunRecord> runs, const RunReportOptions& options = {});

// The same of directories. Throws IoError if one of them is not the directory of a run.
std::string run_report_html(const std::vector<std::filesystem::path>& folders,
                            const RunReportOptions& options = {});

}  // namespace pando::app
