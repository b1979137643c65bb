// SPDX-License-Identifier: MIT
#include "pando/app/report/class_report.h"

#include <algorithm>
#include <span>

#include <fmt/core.h>

#include "pando/app/report/svg_plot.h"
#include "pando/base/strings.h"
#include "pando/store/atomic_file.h"

namespace pando::app {
namespace {

constexpr int64_t kMostCells = 100;        // in a row of the picture
constexpr int64_t kMostCountedCells = 30;  // in a row, if the cells show counts

// Groups neighbouring classes into blocks, so that the picture stays readable.
struct Blocks {
  int64_t classes = 0;
  int64_t width = 1;

  int64_t count() const { return (classes + width - 1) / width; }
  int64_t begin(int64_t block) const { return block * width; }
  int64_t end(int64_t block) const { return std::min(classes, (block + 1) * width); }
};

std::vector<std::string> block_names(const Blocks& blocks, const std::vector<std::string>& names) {
  if (blocks.width == 1) return names;
  std::vector<std::string> result;
  for (int64_t block = 0; block < blocks.count(); ++block) {
    result.push_back(fmt::format("{}-{}", blocks.begin(block), blocks.end(block) - 1));
  }
  return result;
}

int64_t count_of(const ClassReport& report, const Blocks& blocks, int64_t row, int64_t column) {
  int64_t count = 0;
  for (int64_t label = blocks.begin(row); label < blocks.end(row); ++label) {
    for (int64_t k = blocks.begin(column); k < blocks.end(column); ++k) {
      count += report.count(label, k);
    }
  }
  return count;
}

int64_t support_of(const ClassReport& report, const Blocks& blocks, int64_t row) {
  int64_t support = 0;
  for (int64_t label = blocks.begin(row); label < blocks.end(row); ++label) {
    support += report.scores(label).support;
  }
  return support;
}

void write(const std::filesystem::path& path, const std::string& text) {
  store::replace_file(path.string(), {std::as_bytes(std::span(text))});
}

}  // namespace

std::string confusion_svg(const ClassReport& report, const std::vector<std::string>& given,
                          const std::string& counted) {
  const std::vector<std::string> names = names_or_numbers(report, given);
  const Blocks blocks{.classes = report.classes(),
                      .width = (report.classes() + kMostCells - 1) / kMostCells};
  HeatMap map{.title = fmt::format("Confusion matrix: {:.2f} % of {} {} correct",
                                   100 * report.accuracy(), report.samples(), counted),
              .x_label = blocks.width == 1 ? "predicted class" : "predicted class, by number",
              .y_label = blocks.width == 1 ? "true class" : "true class, by number",
              .row_names = block_names(blocks, names),
              .column_names = block_names(blocks, names),
              .shares = {},
              .texts = {},
              .hints = {}};
  for (int64_t row = 0; row < blocks.count(); ++row) {
    const auto support = static_cast<double>(support_of(report, blocks, row));
    for (int64_t column = 0; column < blocks.count(); ++column) {
      const int64_t count = count_of(report, blocks, row, column);
      map.shares.push_back(support == 0 ? 0 : static_cast<double>(count) / support);
      if (blocks.count() > kMostCountedCells) continue;
      map.texts.push_back(count == 0 ? "" : std::to_string(count));
      map.hints.push_back(
          fmt::format("{} predicted as {}: {} ({:.1f} %)", names[static_cast<size_t>(row)],
                      names[static_cast<size_t>(column)], count, 100 * map.shares.back()));
    }
  }
  return heat_map_svg(map);
}

std::string class_names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

std::vector<std::string> parse_class_names(const std::string& text) {
  std::vector<std::string> names = split(text, '\n');
  if (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

void write_class_report(const std::filesystem::path& folder, const ClassReport& report,
                        const std::vector<std::string>& names) {
  write(folder / "class_report.txt", to_text(report, names));
  write(folder / "class_report.csv", scores_csv(report, names));
  write(folder / "confusion.csv", confusion_csv(report, names));
  write(folder / "confusion.svg", confusion_svg(report, names));
}

}  // namespace pando::app
