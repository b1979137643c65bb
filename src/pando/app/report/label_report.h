// Reports how well a network finds the classes of samples that may have several: precision, recall
// and F1 of each class, and how many samples are right in all classes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pando/app/report/target_report.h"
#include "pando/base/json.h"

namespace pando::app {

// What is counted of one class, or of all together. A class is predicted from 0.5 on.
struct LabelCounts {
  int64_t hits = 0;       // predicted and true
  int64_t predicted = 0;  // by the network
  int64_t actual = 0;     // in the labels

  // 0 without a denominator.
  double precision() const { return ratio(hits, predicted); }
  double recall() const { return ratio(hits, actual); }
  double f1() const { return ratio(2 * hits, predicted + actual); }

 private:
  static double ratio(int64_t part, int64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

struct LabelReport {
  std::vector<LabelCounts> classes;
  LabelCounts all;  // its F1 is the metric f1_score
  int64_t samples = 0;
  int64_t right = 0;  // samples with all classes right
};

// `values` are probabilities and labels of 0 and 1, a number for each class.
LabelReport label_report(const TargetValues& values);

// A row for every class; numbers instead of names if there are none.
std::string to_text(const LabelReport& report, const std::vector<std::string>& names);
// {version, names, samples, right, all: [predicted, true, precision, recall, f1], classes: [the
//  same for each class]}.
Json label_record(const LabelReport& report, const std::vector<std::string>& names);
// Writes class_report.txt and class_report.json into `folder`, which must exist. Throws IoError.
void write_label_report(const std::filesystem::path& folder, const LabelReport& report,
                        const std::vector<std::string>& names);

}  // namespace pando::app
