// Kernels get the same geometry for a convolution and for its gradients.
// SPDX-License-Identifier: MIT
#include "pando/kernels/conv_node.h"

#include <gtest/gtest.h>

#include "tests/support/run_graph.h"

namespace pando::kernels {
namespace {

// The geometry of the only node of a graph.
template <typename Geometry>
Geometry geometry_of(const std::string& inputs, const std::string& node,
                     Geometry (*geometry)(const ir::Node&)) {
  const ir::Graph graph = test::typed_graph("graph(" + inputs + ") { " + node + " return }");
  return geometry(*graph.nodes()[0]);
}

TEST(ConvNode, GeometryIsTheSameForwardAndBackward) {
  const std::string attributes =
      "strides=[2,3], dilations=[1,2], groups=2, padding=\"explicit\", pads=[1,0,2,3]";
  const ConvGeometry expected{.batch = 2,
                              .in_channels = 4,
                              .out_channels = 6,
                              .groups = 2,
                              .in = {1, 7, 8},
                              .out = {1, 4, 3},
                              .filter = {1, 3, 2},
                              .stride = {1, 2, 3},
                              .dilation = {1, 1, 2},
                              .pad_low = {0, 1, 0},
                              .pad_high = {0, 2, 3}};
  const std::string x = "x: f32[2,7,8,4] feed";
  const std::string k = "k: f32[3,2,2,6] feed";
  const std::string dy = "dy: f32[2,4,3,6] feed";
  EXPECT_TRUE(expected ==
              geometry_of(x + ", " + k, "y = conv(x, k) {" + attributes + "}", conv_geometry));
  EXPECT_TRUE(expected == geometry_of(x + ", " + k,
                                      "y, i = conv_pool(x, k) {window=[2,2], " + attributes + "}",
                                      conv_geometry));
  EXPECT_TRUE(expected ==
              geometry_of(dy + ", " + k,
                          "dx = conv_input_grad(dy, k) {input=[7,8], " + attributes + "}",
                          conv_geometry));
  EXPECT_TRUE(expected ==
              geometry_of(x + ", " + dy,
                          "dk = conv_filter_grad(x, dy) {filter=[3,2], " + attributes + "}",
                          conv_geometry));
}

TEST(ConvNode, GeometryOfPooling) {
  const PoolNodeGeometry expected{.batch = 2,
                                  .channels = 3,
                                  .in = {1, 5, 4},
                                  .out = {1, 3, 4},
                                  .window = {1, 3, 2},
                                  .stride = {1, 2, 1},
                                  .pad_low = {0, 1, 0},
                                  .pad_high = {0, 1, 1}};
  const std::string attributes = "window=[3,2], strides=[2,1], padding=\"same\"";
  EXPECT_TRUE(expected == geometry_of("x: f32[2,5,4,3] feed",
                                      "y, i = max_pool(x) {" + attributes + "}", pool_geometry));
  EXPECT_TRUE(expected == geometry_of("dy: f32[2,3,4,3] feed",
                                      "dx = avg_pool_grad(dy) {input=[5,4], " + attributes + "}",
                                      pool_geometry));
}

}  // namespace
}  // namespace pando::kernels
