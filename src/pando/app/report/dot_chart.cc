// Draws the charts of dots of svg_plot.h.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "pando/app/report/svg_plot.h"
#include "pando/app/report/svg_text.h"

namespace pando::app {
namespace {

constexpr double kRowHeight = 22;
constexpr double kTitleHeight = 40;
constexpr double kAxisHeight = 34;
constexpr double kPlotWidth = 420;
constexpr double kValueWidth = 110;
constexpr double kLetterWidth = 7;
constexpr double kDotMargin = 14;
constexpr double kLogarithmicFactor = 20;
constexpr const char* kDotColour = "#0072b2";
constexpr const char* kFormerColour = "#d55e00";

class DotChartPicture {
 public:
  DotChartPicture(const DotChart& chart, double top, double names_width)
      : chart_(chart), top_(top), names_width_(names_width) {
    std::vector<double> all;
    for (const DotRow& row : chart.rows) {
      all.insert(all.end(), {row.value, row.low, row.high});
      if (row.former) all.push_back(*row.former);
    }
    std::erase_if(all, [](double value) { return !std::isfinite(value); });
    if (all.empty()) return;
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    logarithmic_ = *least > 0 && *most > kLogarithmicFactor * *least;
    // A linear axis starts at 0, so that distances can be compared.
    low_ = logarithmic_ ? std::floor(std::log10(*least)) : std::min(0.0, *least);
    high_ = logarithmic_ ? std::ceil(std::log10(*most)) : std::max(0.0, *most);
    if (high_ == low_) high_ = low_ + 1;
  }

  static double height_of(const DotChart& chart) {
    return kTitleHeight + kRowHeight * static_cast<double>(chart.rows.size()) + kAxisHeight;
  }

  std::string draw() const {
    std::string text =
        svg_label({12, top_ + 24}, chart_.title, "font-size=\"15\" font-weight=\"bold\"") + axis();
    for (size_t i = 0; i < chart_.rows.size(); ++i) {
      text +=
          row(chart_.rows[i], top_ + kTitleHeight + kRowHeight * (static_cast<double>(i) + 0.5));
    }
    return text;
  }

 private:
  double x_of(double value) const {
    const double place = logarithmic_ ? std::log10(value) : value;
    return names_width_ + kPlotWidth * (place - low_) / (high_ - low_);
  }

  std::string axis() const {
    std::string text;
    const double begin = top_ + kTitleHeight;
    const double end = top_ + height_of(chart_) - kAxisHeight;
    for (const double tick : axis_ticks(low_, high_)) {
      if (logarithmic_ && tick != std::floor(tick)) continue;
      const double value = logarithmic_ ? std::pow(10, tick) : tick;
      const double x = x_of(value);
      text += svg_line({x, begin}, {x, end}, "#dddddd");
      text += svg_label({x, end + 16}, fmt::format("{:g}", value), "text-anchor=\"middle\"");
    }
    return text;
  }

  std::string row(const DotRow& row, double y) const {
    std::string text =
        svg_label({names_width_ - kDotMargin, y + 4}, row.name, "text-anchor=\"end\"");
    if (!std::isfinite(row.value)) return text;
    if (std::isfinite(row.low) && std::isfinite(row.high)) {
      text += svg_box({x_of(row.low), y - 1}, {x_of(row.high) - x_of(row.low), 2}, kDotColour);
    }
    if (row.former && std::isfinite(*row.former)) {
      text += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5.5\" fill=\"none\" stroke=\"{}\" "
          "stroke-width=\"1.6\"><title>before: {:.6g}</title></circle>\n",
          x_of(*row.former), y, kFormerColour, *row.former);
    }
    text += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"><title>{:.6g} ({:.6g} to "
        "{:.6g})</title></circle>\n",
        x_of(row.value), y, kDotColour, row.value, row.low, row.high);
    return text + svg_label({names_width_ + kPlotWidth + kDotMargin, y + 4},
                            fmt::format("{:.5g}", row.value));
  }

  const DotChart& chart_;
  double top_;
  double names_width_;
  bool logarithmic_ = false;
  double low_ = 0;
  double high_ = 1;
};

}  // namespace

std::string dot_charts_svg(const std::vector<DotChart>& charts) {
  size_t longest = 8;
  bool compares = false;
  for (const DotChart& chart : charts) {
    for (const DotRow& row : chart.rows) {
      longest = std::max(longest, row.name.size());
      compares = compares || row.former;
    }
  }
  const double names_width = kLetterWidth * static_cast<double>(longest) + 2 * kDotMargin;
  std::string content;
  double top = 0;
  for (const DotChart& chart : charts) {
    content += DotChartPicture(chart, top, names_width).draw();
    top += DotChartPicture::height_of(chart);
  }
  if (charts.empty()) {
    content = svg_label({12, 24}, "no values");
    top = kTitleHeight;
  }
  const char* legend = compares ? "dot: now; line: its range; circle: before"
                                : "dot: median; line: range of the repetitions";
  content += svg_label({12, top + 14}, legend, "fill=\"#555555\"");
  return svg_document({names_width + kPlotWidth + kValueWidth, top + kAxisHeight - 8}, content);
}

}  // namespace pando::app
