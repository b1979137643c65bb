#include "pando/app/report/svg_plot.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "pando/app/report/svg_text.h"
#include "tests/app/expect_xml.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

TEST(AxisTicks, AreRoundNumbers) {
  EXPECT_EQ(axis_ticks(0, 10), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(axis_ticks(1, 3), (std::vector<double>{1, 1.5, 2, 2.5, 3}));
  EXPECT_EQ(axis_ticks(-0.3, 0.3), (std::vector<double>{-0.2, 0, 0.2}));
  EXPECT_EQ(axis_ticks(2, 2), (std::vector<double>{2}));
  for (const double high : {1e-7, 0.013, 1.7, 99.9, 12345.0, 3e8}) {
    const size_t count = axis_ticks(0, high).size();
    EXPECT_GE(count, 3u) << high;
    EXPECT_LE(count, 7u) << high;
  }
}

TEST(CurvesSvg, DrawsLinesAxesAndLegend) {
  const std::string svg = curves_svg(
      {{.title = "Loss & more",
        .x_label = "epoch",
        .y_label = "loss",
        .curves = {{"training", {{1, 2}, {2, 1}, {3, 0.5}}}, {"validation", {{1, 2.5}, {3, 1}}}}}});
  expect_xml(svg);
  for (const char* text : {">Loss &amp; more<", ">epoch<", ">loss<", ">training<", ">validation<"})
    EXPECT_SAYS(svg, text);
  EXPECT_SAYS(svg, "M62.0 ");  // the first x is at the left end
  EXPECT_SAYS(svg, "width=\"480\"");
}

TEST(CurvesSvg, GapsSinglePointsAndNothing) {
  const double nan = std::nan("");
  const std::string gap =
      curves_svg({{"", "", "", {{"a", {{1, 1}, {2, 2}, {3, nan}, {4, 1}, {5, INFINITY}}}}}});
  expect_xml(gap);
  EXPECT_EQ(gap.find("nan"), std::string::npos);
  EXPECT_EQ(gap.find("inf"), std::string::npos);
  const size_t path = gap.find("<path d=\"");
  const std::string d = gap.substr(path, gap.find("fill", path) - path);
  EXPECT_EQ(std::count(d.begin(), d.end(), 'M'), 2) << d;
  EXPECT_EQ(std::count(d.begin(), d.end(), 'L'), 1) << d;
  const std::string point = curves_svg({{"", "", "", {{"a", {{0, 0}}}}}});
  expect_xml(point);
  EXPECT_SAYS(point, "<circle");
  EXPECT_EQ(point.find("nan"), std::string::npos);
  EXPECT_EQ(point.find("e-1"), std::string::npos)
      << "readable numbers at the axis of a single point";
  const std::string empty = curves_svg({{"Loss", "", "", {{"a", {}}}}, {"Accuracy", "", "", {}}});
  expect_xml(empty);
  EXPECT_SAYS(empty, ">no values<");
  EXPECT_SAYS(empty, "width=\"960\"");
}

TEST(CurvesSvg, TicksMayBeGivenAndLargeNumbersAreShort) {
  const Panel panel{.title = "",
                    .x_label = "",
                    .y_label = "",
                    .curves = {{"a", {{0, 1}, {10, 2'000'000}}}},
                    .x_ticks = {{0, "1"}, {10, "1024"}}};
  const std::string svg = curves_svg({panel});
  expect_xml(svg);
  for (const char* text : {">1<", ">1024<", ">500k<", ">2M<"}) EXPECT_SAYS(svg, text);
  EXPECT_EQ(svg.find(">4<"), std::string::npos) << "no other ticks";
}

TEST(HeatMapSvg, RefusesSizesThatDoNotFit) {
  HeatMap map{.row_names = {"a", "b"}, .column_names = {"c"}, .shares = {0.5}};
  EXPECT_THROW(heat_map_svg(map), InternalError);
  map.shares.push_back(1);
  expect_xml(heat_map_svg(map));
  map.texts = {"x"};
  EXPECT_THROW(heat_map_svg(map), InternalError);
  map.texts.clear();
  map.hints = {"x"};
  EXPECT_THROW(heat_map_svg(map), InternalError);
}

TEST(HeatMapSvg, ColoursGrowDarkerAndTextStaysReadable) {
  const std::string svg = heat_map_svg({.title = "t",
                                        .x_label = "x",
                                        .y_label = "y",
                                        .row_names = {"r"},
                                        .column_names = {"a", "b", "c"},
                                        .shares = {0, 0.01, 1},
                                        .texts = {"", "1", "99"},
                                        .hints = {}});
  EXPECT_SAYS(svg, "fill=\"#082456\"");  // share 1
  EXPECT_SAYS(svg, "fill=\"#ffffff\">99<");
  EXPECT_SAYS(svg, "fill=\"#222222\">1<");
}

TEST(SvgText, EscapesMarkup) { EXPECT_EQ(xml_text("a<b>&\"\x01"), "a&lt;b&gt;&amp;&quot; "); }

}  // namespace
}  // namespace pando::app
