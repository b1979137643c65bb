// The tables of a class report.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/train/classification.h"
#include "pando/train/report_text.h"

namespace pando {
namespace {

constexpr int64_t kMostClassesOfTextMatrix = 20;
constexpr size_t kConfusions = 5;

struct Confusion {
  int64_t label = 0;
  int64_t predicted = 0;
  int64_t count = 0;
};

// The largest counts outside the diagonal, largest first.
std::vector<Confusion> confusions_of(const ClassReport& report) {
  std::vector<Confusion> all;
  for (int64_t label = 0; label < report.classes(); ++label) {
    for (int64_t predicted = 0; predicted < report.classes(); ++predicted) {
      const int64_t count = label == predicted ? 0 : report.count(label, predicted);
      if (count > 0) all.push_back({label, predicted, count});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Confusion& a, const Confusion& b) { return a.count > b.count; });
  all.resize(std::min(all.size(), kConfusions));
  return all;
}

std::string scores_line(const std::string& name, size_t width, const ClassScores& scores) {
  return fmt::format("{:<{}} {:>10.4f} {:>10.4f} {:>10.4f} {:>10}\n", name, width, scores.precision,
                     scores.recall, scores.f1, scores.support);
}

std::string matrix_text(const ClassReport& report, const std::vector<std::string>& names,
                        size_t width) {
  size_t cell = 5;
  for (int64_t k = 0; k < report.classes(); ++k) {
    cell = std::max(cell, std::to_string(report.scores(k).support).size());
  }
  std::string text = fmt::format("\n{:<{}}  predicted class, by number\n", "true class", width + 4);
  text += std::string(width + 4, ' ');
  for (int64_t k = 0; k < report.classes(); ++k) text += fmt::format(" {:>{}}", k, cell);
  text += '\n';
  for (int64_t label = 0; label < report.classes(); ++label) {
    const std::string name = train::short_name(names[static_cast<size_t>(label)], width);
    text += fmt::format("{:>3} {:<{}}", label, name, width);
    for (int64_t k = 0; k < report.classes(); ++k) {
      text += fmt::format(" {:>{}}", report.count(label, k), cell);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::vector<std::string> names_or_numbers(const ClassReport& report,
                                          const std::vector<std::string>& names) {
  if (!names.empty()) {
    if (static_cast<int64_t>(names.size()) == report.classes()) return names;
    throw InvalidArgument("class report: expected one name for each of ", report.classes(),
                          " classes, or none, got ", names.size());
  }
  std::vector<std::string> numbers;
  for (int64_t k = 0; k < report.classes(); ++k) numbers.push_back(std::to_string(k));
  return numbers;
}

std::string to_text(const ClassReport& report, const std::vector<std::string>& given) {
  const std::vector<std::string> names = names_or_numbers(report, given);
  const size_t width = train::name_width(names, "weighted mean");
  std::string text = fmt::format("{:<{}} {:>10} {:>10} {:>10} {:>10}\n", "class", width,
                                 "precision", "recall", "F1", "support");
  for (int64_t k = 0; k < report.classes(); ++k) {
    text += scores_line(train::short_name(names[static_cast<size_t>(k)], width), width,
                        report.scores(k));
  }
  text += scores_line("mean", width, report.macro_mean());
  text += scores_line("weighted mean", width, report.weighted_mean());
  text +=
      fmt::format("\ncorrect: {:.2f} % of {} samples", 100 * report.accuracy(), report.samples());
  if (const auto top_5 = report.top_5_accuracy()) {
    text += fmt::format("; in the top five: {:.2f} %", 100 * *top_5);
  }
  text += '\n';
  if (report.undecided() > 0) {
    text += fmt::format("{} samples have outputs that are not numbers and count as wrong\n",
                        report.undecided());
  }
  for (const Confusion& one : confusions_of(report)) {
    text +=
        fmt::format("{} predicted as {}: {} ({:.1f} %)\n", names[static_cast<size_t>(one.label)],
                    names[static_cast<size_t>(one.predicted)], one.count,
                    100.0 * static_cast<double>(one.count) /
                        static_cast<double>(report.scores(one.label).support));
  }
  if (report.classes() <= kMostClassesOfTextMatrix) text += matrix_text(report, names, width);
  return text;
}

std::string scores_csv(const ClassReport& report, const std::vector<std::string>& given) {
  const std::vector<std::string> names = names_or_numbers(report, given);
  std::string text = "class,name,support,precision,recall,f1\n";
  for (int64_t k = 0; k < report.classes(); ++k) {
    const ClassScores one = report.scores(k);
    text += fmt::format("{},{},{},{},{},{}\n", k, train::csv_field(names[static_cast<size_t>(k)]),
                        one.support, one.precision, one.recall, one.f1);
  }
  return text;
}

std::string confusion_csv(const ClassReport& report, const std::vector<std::string>& given) {
  const std::vector<std::string> names = names_or_numbers(report, given);
  std::string text = "true class";
  for (const std::string& name : names) text += "," + train::csv_field(name);
  text += '\n';
  for (int64_t label = 0; label < report.classes(); ++label) {
    text += train::csv_field(names[static_cast<size_t>(label)]);
    for (int64_t k = 0; k < report.classes(); ++k) {
      text += "," + std::to_string(report.count(label, k));
    }
    text += '\n';
  }
  return text;
}

}  // namespace pando
