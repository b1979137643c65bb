// SPDX-License-Identifier: MIT
#include "pando/app/report/label_report.h"

#include <fmt/core.h>

#include "pando/app/report/class_record.h"
#include "pando/base/error.h"
#include "pando/store/atomic_file.h"
#include "pando/train/report_text.h"

namespace pando::app {
namespace {

constexpr float kLeastScore = 0.5f;

void count(bool predicted, bool actual, LabelCounts& counts) {
  counts.hits += predicted && actual ? 1 : 0;
  counts.predicted += predicted ? 1 : 0;
  counts.actual += actual ? 1 : 0;
}

std::string line_of(const std::string& name, size_t width, const LabelCounts& counts) {
  return fmt::format("{:<{}} {:>10.4f} {:>10.4f} {:>10.4f} {:>10}\n",
                     train::short_name(name, width), width, counts.precision(), counts.recall(),
                     counts.f1(), counts.actual);
}

Json row_of(const LabelCounts& counts) {
  return Json::Items{counts.predicted, counts.actual, rounded_share(counts.precision()),
                     rounded_share(counts.recall()), rounded_share(counts.f1())};
}

}  // namespace

LabelReport label_report(const TargetValues& values) {
  PANDO_CHECK(values.predicted.size() == values.actual.size(), values.predicted.size(), " ",
              values.actual.size());
  LabelReport report{.classes = std::vector<LabelCounts>(static_cast<size_t>(values.targets)),
                     .all = {},
                     .samples = values.samples()};
  const size_t classes = report.classes.size();
  for (size_t first = 0; first < values.actual.size(); first += classes) {
    bool right = true;
    for (size_t k = 0; k < classes; ++k) {
      const bool predicted = values.predicted[first + k] >= kLeastScore;
      const bool actual = values.actual[first + k] >= kLeastScore;
      count(predicted, actual, report.classes[k]);
      count(predicted, actual, report.all);
      right = right && predicted == actual;
    }
    report.right += right ? 1 : 0;
  }
  return report;
}

std::string to_text(const LabelReport& report, const std::vector<std::string>& names) {
  const size_t width = train::name_width(names, "all classes");
  std::string text = fmt::format("{:<{}} {:>10} {:>10} {:>10} {:>10}\n", "class", width,
                                 "precision", "recall", "F1", "support");
  for (size_t k = 0; k < report.classes.size(); ++k) {
    text += line_of(k < names.size() ? names[k] : std::to_string(k), width, report.classes[k]);
  }
  text += line_of("all classes", width, report.all);
  return text +
         fmt::format("{} of {} samples are right in all classes\n", report.right, report.samples);
}

Json label_record(const LabelReport& report, const std::vector<std::string>& names) {
  Json labels = Json::array(), classes = Json::array();
  for (size_t k = 0; k < report.classes.size(); ++k) {
    labels.push_back(k < names.size() ? names[k] : std::to_string(k));
    classes.push_back(row_of(report.classes[k]));
  }
  return {{"version", 1},          {"names", std::move(labels)}, {"samples", report.samples},
          {"right", report.right}, {"all", row_of(report.all)},  {"classes", std::move(classes)}};
}

void write_label_report(const std::filesystem::path& folder, const LabelReport& report,
                        const std::vector<std::string>& names) {
  const auto write = [&](const char* name, const std::string& text) {
    store::replace_file((folder / name).string(), {std::as_bytes(std::span(text))});
  };
  write("class_report.txt", to_text(report, names));
  write(kClassRecordFile, label_record(report, names).dump() + "\n");
}

}  // namespace pando::app
