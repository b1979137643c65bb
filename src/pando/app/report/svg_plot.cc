// SPDX-License-Identifier: MIT
#include "pando/app/report/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "pando/app/report/svg_text.h"

namespace pando::app {
namespace {

// These colours can be distinguished with colour blindness too.
constexpr std::array<const char*, 4> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7"};
constexpr double kPanelWidth = 480;
constexpr double kPanelHeight = 320;
constexpr double kLeft = 62, kRight = 18, kTop = 58, kBottom = 48;
constexpr size_t kMostMarkedPoints = 40;

bool is_finite(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

// Short enough to leave space for the name of the axis.
std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return fmt::format("{:g}G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (size >= 1e5) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:g}", value);
}

struct Range {
  double low = 0;
  double high = 0;
  bool empty = true;

  void include(double value) {
    low = empty ? value : std::min(low, value);
    high = empty ? value : std::max(high, value);
    empty = false;
  }
  // Adds a margin around the values, also around a single value.
  void widen(double share) {
    const double alone = low == 0 ? 0.5 : std::abs(low) / 2;
    const double room = high > low ? share * (high - low) : alone;
    low -= room;
    high += room;
  }
};

class PanelPicture {
 public:
  PanelPicture(const Panel& panel, double left) : panel_(panel), left_(left) {
    for (const Curve& curve : panel.curves) {
      for (const auto& point : curve.points) {
        if (!is_finite(point)) continue;
        x_.include(point.first);
        y_.include(point.second);
      }
    }
    x_.widen(0);
    y_.widen(0.05);
  }

  std::string draw() const {
    std::string text = svg_label({left_ + kPanelWidth / 2, 22}, panel_.title,
                                 "text-anchor=\"middle\" font-size=\"15\" font-weight=\"bold\"");
    if (x_.empty) {
      return text + svg_label({left_ + kPanelWidth / 2, kPanelHeight / 2}, "no values",
                              "text-anchor=\"middle\"");
    }
    text += axes() + legend();
    for (size_t i = 0; i < panel_.curves.size(); ++i) {
      text += curve(panel_.curves[i], kColours[i % kColours.size()]);
    }
    return text;
  }

 private:
  Place at(double x, double y) const {
    const double width = kPanelWidth - kLeft - kRight;
    const double height = kPanelHeight - kTop - kBottom;
    return {left_ + kLeft + width * (x - x_.low) / (x_.high - x_.low),
            kTop + height * (y_.high - y) / (y_.high - y_.low)};
  }

  std::string axes() const {
    std::string text;
    for (const Tick& tick : x_ticks()) {
      const Place foot = at(tick.place, y_.low);
      text += svg_line(foot, at(tick.place, y_.high), "#eeeeee");
      text += svg_label({foot.x, foot.y + 16}, tick.text, "text-anchor=\"middle\"");
    }
    for (const double y : axis_ticks(y_.low, y_.high)) {
      const Place side = at(x_.low, y);
      text += svg_line(side, at(x_.high, y), "#eeeeee");
      text += svg_label({side.x - 6, side.y + 4}, tick_text(y), "text-anchor=\"end\"");
    }
    text += svg_line(at(x_.low, y_.low), at(x_.high, y_.low), "#555555");
    text += svg_line(at(x_.low, y_.low), at(x_.low, y_.high), "#555555");
    const Place middle = at((x_.low + x_.high) / 2, (y_.low + y_.high) / 2);
    text += svg_label({middle.x, kPanelHeight - 10}, panel_.x_label, "text-anchor=\"middle\"");
    text += svg_turned_label({left_ + 16, middle.y}, panel_.y_label, -90, "text-anchor=\"middle\"");
    return text;
  }

  std::vector<Tick> x_ticks() const {
    if (!panel_.x_ticks.empty()) return panel_.x_ticks;
    std::vector<Tick> ticks;
    for (const double x : axis_ticks(x_.low, x_.high)) ticks.push_back({x, tick_text(x)});
    return ticks;
  }

  std::string legend() const {
    std::string text;
    double x = left_ + kLeft;
    for (size_t i = 0; i < panel_.curves.size(); ++i) {
      const std::string& name = panel_.curves[i].name;
      text += svg_box({x, 36}, {18, 4}, kColours[i % kColours.size()]);
      text += svg_label({x + 24, 43}, name);
      x += 24 + 7.2 * static_cast<double>(name.size()) + 16;
    }
    return text;
  }

  // Draws the pieces of the curve between gaps; a single point is drawn as a dot.
  std::string curve(const Curve& curve, const char* colour) const {
    std::string path;
    std::string dots;
    bool pen_down = false;
    const bool marked = !curve.joined || curve.points.size() <= kMostMarkedPoints;
    for (size_t i = 0; i < curve.points.size(); ++i) {
      if (!is_finite(curve.points[i])) {
        pen_down = false;
        continue;
      }
      const Place place = at(curve.points[i].first, curve.points[i].second);
      const bool ends = i + 1 == curve.points.size() || !is_finite(curve.points[i + 1]);
      if (marked || (!pen_down && ends)) {
        dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>", place.x, place.y);
      }
      if (curve.joined)
        path += fmt::format("{}{:.1f} {:.1f}", pen_down ? " L" : " M", place.x, place.y);
      pen_down = true;
    }
    return fmt::format(
        "<path d=\"{0}\" fill=\"none\" stroke=\"{1}\" stroke-width=\"1.8\" "
        "stroke-linejoin=\"round\"/>\n<g fill=\"{1}\">{2}</g>\n",
        path.empty() ? path : path.substr(1), colour, dots);
  }

  const Panel& panel_;
  double left_;
  Range x_;
  Range y_;
};

}  // namespace

std::vector<double> axis_ticks(double low, double high) {
  if (!(high > low)) return {low};
  const double wanted = (high - low) / 5;
  const double power = std::pow(10, std::floor(std::log10(wanted)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= wanted * 0.999) step = factor * power;
  }
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9);
  for (double i = first; i * step <= high + step * 1e-9; ++i) {
    ticks.push_back(i == 0 ? 0 : i * step);
  }
  return ticks;
}

std::string curves_svg(const std::vector<Panel>& panels) {
  std::string content;
  double left = 0;
  for (const Panel& panel : panels) {
    content += PanelPicture(panel, left).draw();
    left += kPanelWidth;
  }
  return svg_document({left, kPanelHeight}, content);
}

}  // namespace pando::app
