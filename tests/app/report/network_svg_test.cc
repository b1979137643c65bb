#include "pando/app/report/network_svg.h"

#include "pando/app/report/layered_layout.h"
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"
#include "tests/app/expect_xml.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

TEST(LayeredLayout, PlacesBoxesBelowTheirSourcesWithoutOverlap) {
  // 0 -> 1 -> 2 -> 4, 0 -> 3 -> 4, 0 -> 4: a long edge beside two chains.
  const LayoutGraph graph{.widths = {50, 80, 60, 40, 70},
                          .sources = {{}, {0}, {1}, {0}, {2, 3, 0}}};
  const Layout layout = lay_out(graph);
  ASSERT_EQ(layout.boxes.size(), 5u);
  EXPECT_EQ(layout.boxes[1].y, layout.boxes[3].y);
  EXPECT_GE(std::abs(layout.boxes[1].x - layout.boxes[3].x), (80 + 40) / 2);
  EXPECT_LT(layout.boxes[0].y, layout.boxes[1].y);
  EXPECT_LT(layout.boxes[2].y, layout.boxes[4].y);
  ASSERT_EQ(layout.edges.size(), 6u);
  EXPECT_EQ(layout.edges.back().from, 0u);
  EXPECT_EQ(layout.edges.back().points.size(), 6u);  // passes two layers
  for (size_t i = 0; i < layout.boxes.size(); ++i) {
    EXPECT_GE(layout.boxes[i].x - graph.widths[i] / 2, 0);
    EXPECT_LE(layout.boxes[i].x + graph.widths[i] / 2, layout.size.x);
    EXPECT_LE(layout.boxes[i].y, layout.size.y);
  }
}

TEST(LayeredLayout, AnEmptyGraphIsAnEmptyPicture) { EXPECT_TRUE(lay_out({}).boxes.empty()); }

TEST(NetworkSvg, ShowsNamesClassesShapesAndEdges) {
  const SymbolicTensor a = Input({8, 8, 3}, {.name = "left<1>"});
  const SymbolicTensor b = Input({8, 8, 3}, {.name = "right"});
  const SymbolicTensor sum = Add({.name = "sum"})({a, b});
  const SymbolicTensor y = Dense({.units = 4, .name = "head"})(Flatten()(sum));
  const std::string svg = network_svg(Network({a, b}, y));
  EXPECT_SAYS(svg, "left&lt;1&gt;", "right", "InputLayer  [8,8,3]", "Dense  [4]",
              "head: 772 parameters");
  expect_xml(svg);
}

TEST(NetworkSvg, DrawsLargeNetworks) {
  const std::string svg = network_svg(zoo_entry("densenet121").build({64, 64, 3}, 10));
  EXPECT_LT(svg.size(), 2'000'000u);
  expect_xml(svg);
}

}  // namespace
}  // namespace pando::app
