// SPDX-License-Identifier: MIT
#include "pando/app/report/class_record.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "pando/data/image/png.h"
#include "pando/data/picture_sheet.h"
#include "pando/store/atomic_file.h"

namespace pando::app {
namespace {

// Writes the sheet of pictures, and returns what is where in it.
Json write_samples(const std::filesystem::path& path, std::vector<ClassifiedSample> samples,
                   const Dataset& data) {
  const Field& x = data.fields()[0];
  if (samples.empty() || !is_picture(x.shape, x.dtype)) return nullptr;
  ClassSampleLimits limits;
  limits.samples = std::min(limits.samples, static_cast<size_t>(sheet_capacity(x.shape)));
  const std::vector<ClassifiedSample> chosen = chosen_samples(std::move(samples), limits);
  const PictureSheet sheet = picture_sheet(x.shape, std::ssize(chosen), [&](int64_t i) {
    return data.get(chosen[static_cast<size_t>(i)].index).fields[0];
  });
  const std::vector<uint8_t> png = encode_png(sheet.image.view());
  store::replace_file(path.string(), {std::as_bytes(std::span(png))});
  Json rows = Json::array();
  for (const ClassifiedSample& one : chosen) {
    rows.push_back(Json::Items{one.index, one.label, one.predicted, rounded_share(one.confidence)});
  }
  return {{"columns", sheet.columns},
          {"tile", Json::Items{sheet.tile.height, sheet.tile.width}},
          {"samples", std::move(rows)}};
}

}  // namespace

double rounded_share(double share) { return std::round(share * 1e4) / 1e4; }

Json recorded_cells(const ClassReport& report) {
  std::vector<std::array<int64_t, 3>> cells;
  for (int64_t label = 0; label < report.classes(); ++label) {
    for (int64_t predicted = 0; predicted < report.classes(); ++predicted) {
      const int64_t count = report.count(label, predicted);
      if (count > 0) cells.push_back({label, predicted, count});
    }
  }
  std::ranges::stable_sort(cells, [](const auto& a, const auto& b) { return a[2] > b[2]; });
  cells.resize(std::min(cells.size(), kMostRecordedCells));
  return cells;
}

Json class_record(const ClassReport& report, const std::vector<std::string>& names) {
  Json classes = Json::array();
  for (int64_t label = 0; label < report.classes(); ++label) {
    const ClassScores scores = report.scores(label);
    classes.push_back(Json::Items{scores.support, rounded_share(scores.precision),
                                  rounded_share(scores.recall), rounded_share(scores.f1)});
  }
  return {{"version", 1},
          {"names", names_or_numbers(report, names)},
          {"samples", report.samples()},
          {"accuracy", report.accuracy()},
          {"classes", std::move(classes)},
          {"cells", recorded_cells(report)}};
}

void write_class_record(const std::filesystem::path& folder, const ClassReport& report,
                        const std::vector<std::string>& names,
                        std::vector<ClassifiedSample> samples, const Dataset& data) {
  Json record = class_record(report, names);
  std::error_code ignored;
  std::filesystem::remove(folder / kClassSamplesFile, ignored);  // of an earlier validation
  record["shown"] = write_samples(folder / kClassSamplesFile, std::move(samples), data);
  const std::string text = record.dump() + "\n";
  store::replace_file((folder / kClassRecordFile).string(), {std::as_bytes(std::span(text))});
}

}  // namespace pando::app
