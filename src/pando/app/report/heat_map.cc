// Draws the heat map of svg_plot.h.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "pando/app/report/svg_plot.h"
#include "pando/app/report/svg_text.h"
#include "pando/base/error.h"

namespace pando::app {
namespace {

constexpr double kLargestCell = 46;
constexpr double kSmallestCell = 8;
constexpr double kWantedSize = 760;   // of all cells together, unless cells get too small
constexpr double kLetterShare = 0.6;  // the width of a letter, relative to the font size
constexpr double kNarrowCell = 18;    // names below narrower cells are written vertically
constexpr double kSlope = 0.75;       // the height of a name at 45 degrees, relative to its length
constexpr size_t kLongestName = 26;
constexpr double kDarkShare = 0.36;  // text on darker cells is white

struct Colour {
  double red = 0;
  double green = 0;
  double blue = 0;
};

// A scale from white through blue to nearly black.
std::string colour_of(double share) {
  constexpr std::array<Colour, 4> kScale = {
      {{255, 255, 255}, {158, 202, 225}, {33, 113, 181}, {8, 36, 86}}};
  const double place = 3 * std::sqrt(std::clamp(share, 0.0, 1.0));
  const auto from = std::min<size_t>(static_cast<size_t>(place), 2);
  const double part = place - static_cast<double>(from);
  const auto mix = [&](double Colour::*channel) {
    return std::lround(kScale[from].*channel * (1 - part) + kScale[from + 1].*channel * part);
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(&Colour::red), mix(&Colour::green),
                     mix(&Colour::blue));
}

std::string shortened(const std::string& name) {
  if (name.size() <= kLongestName) return name;
  size_t end = kLongestName - 2;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
  return name.substr(0, end) + "..";
}

double longest(const std::vector<std::string>& names) {
  size_t most = 0;
  for (const std::string& name : names) most = std::max(most, shortened(name).size());
  return static_cast<double>(most);
}

class HeatMapPicture {
 public:
  explicit HeatMapPicture(const HeatMap& map)
      : map_(map), rows_(map.row_names.size()), columns_(map.column_names.size()) {
    PANDO_CHECK(map.shares.size() == rows_ * columns_, "shares of a heat map");
    PANDO_CHECK(map.texts.empty() || map.texts.size() == rows_ * columns_, "its texts");
    PANDO_CHECK(map.hints.empty() || map.hints.size() == rows_ * columns_, "its hints");
    const auto most = static_cast<double>(std::max<size_t>({rows_, columns_, 1}));
    cell_ = std::clamp(std::floor(kWantedSize / most), kSmallestCell, kLargestCell);
    font_ = std::clamp(cell_ - 1, 6.0, 12.0);
    left_ = 40 + kLetterShare * font_ * longest(map.row_names);
    upright_ = cell_ < kNarrowCell;
    below_ =
        34 + font_ + (upright_ ? 1 : kSlope) * kLetterShare * font_ * longest(map.column_names);
  }

  std::string draw() const {
    const double width = left_ + size(columns_) + 96;
    const double height = kTop + size(rows_) + below_;
    std::string text = svg_label({left_ + size(columns_) / 2, 24}, map_.title,
                                 "text-anchor=\"middle\" font-size=\"15\" font-weight=\"bold\"");
    text += cells() + names() + frame() + scale();
    return svg_document({std::max(width, 360.0), std::max(height, 260.0)}, text);
  }

 private:
  static constexpr double kTop = 40;

  double size(size_t count) const { return cell_ * static_cast<double>(count); }
  Place corner(size_t row, size_t column) const { return {left_ + size(column), kTop + size(row)}; }

  // Cells with a share of 0 are not drawn: they show the background.
  std::string cells() const {
    std::string text;
    for (size_t i = 0; i < map_.shares.size(); ++i) {
      const Place at = corner(i / columns_, i % columns_);
      const double share = map_.shares[i];
      const std::string hint =
          map_.hints.empty() ? "" : "<title>" + xml_text(map_.hints[i]) + "</title>";
      if (share > 0) text += svg_box(at, {cell_, cell_}, colour_of(share), hint);
      if (map_.texts.empty() || map_.texts[i].empty()) continue;
      const auto letters = static_cast<double>(std::max<size_t>(map_.texts[i].size(), 3));
      const double font = std::min(13.0, (cell_ - 4) / (kLetterShare * letters));
      text += svg_label({at.x + cell_ / 2, at.y + cell_ / 2 + 0.36 * font}, map_.texts[i],
                        fmt::format("text-anchor=\"middle\" pointer-events=\"none\" "
                                    "font-size=\"{:.1f}\" fill=\"{}\"",
                                    font, share > kDarkShare ? "#ffffff" : "#222222"));
    }
    return text;
  }

  std::string names() const {
    const std::string anchor = fmt::format("text-anchor=\"end\" font-size=\"{:.1f}\"", font_);
    std::string text;
    for (size_t row = 0; row < rows_; ++row) {
      const Place at = corner(row, 0);
      text += svg_label({at.x - 5, at.y + cell_ / 2 + 0.36 * font_}, shortened(map_.row_names[row]),
                        anchor);
    }
    for (size_t column = 0; column < columns_; ++column) {
      const Place at = corner(rows_, column);
      const Place end = upright_ ? Place{at.x + cell_ / 2 + 0.36 * font_, at.y + 5}
                                 : Place{at.x + cell_ / 2 + 0.3 * font_, at.y + font_};
      text +=
          svg_turned_label(end, shortened(map_.column_names[column]), upright_ ? -90 : -45, anchor);
    }
    const std::string middle = "text-anchor=\"middle\" font-size=\"13\"";
    const double y = kTop + size(rows_) + below_ - 10;
    text += svg_label({left_ + size(columns_) / 2, y}, map_.x_label, middle);
    text += svg_turned_label({18, kTop + size(rows_) / 2}, map_.y_label, -90, middle);
    return text;
  }

  std::string frame() const {
    const Place a = corner(0, 0);
    const Place b = corner(rows_, columns_);
    return svg_line(a, {b.x, a.y}, "#888888") + svg_line({b.x, a.y}, b, "#888888") +
           svg_line(b, {a.x, b.y}, "#888888") + svg_line({a.x, b.y}, a, "#888888");
  }

  // What the colours mean, as a bar beside the cells.
  std::string scale() const {
    constexpr int kSteps = 60;
    const double x = left_ + size(columns_) + 24;
    const double height = std::clamp(size(rows_), 120.0, 300.0);
    const auto y_of = [&](double share) { return kTop + height * (1 - std::sqrt(share)); };
    std::string text;
    for (int i = 0; i < kSteps; ++i) {
      const double middle = (i + 0.5) / kSteps;
      text += svg_box({x, kTop + height * (1 - (i + 1.0) / kSteps)}, {14, height / kSteps + 0.5},
                      colour_of(middle * middle));
    }
    for (const double share : {0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0}) {
      text += svg_label({x + 19, y_of(share) + 4}, fmt::format("{:g} %", 100 * share),
                        "font-size=\"11\"");
    }
    return text;
  }

  const HeatMap& map_;
  size_t rows_;
  size_t columns_;
  double cell_ = 0;
  double font_ = 0;
  bool upright_ = false;
  double left_ = 0;
  double below_ = 0;
};

}  // namespace

std::string heat_map_svg(const HeatMap& map) { return HeatMapPicture(map).draw(); }

}  // namespace pando::app
