#include "pando/kernels/node_activation.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/ops/activation_attribute.h"
#include "tests/support/run_graph.h"

namespace pando::kernels {
namespace {

// What kernels apply to their results is what the activation's own kernel computes.
TEST(NodeActivation, IsThePostOpItself) {
  for (const std::string& name : ops::builtin_ops().names_with(ops::Trait::post_op)) {
    ir::Graph graph = test::typed_graph(
        concat("graph(x: f32[4] feed) { y = ", name, "(x) s = add(x, x) return result y=y }"));
    const test::Values inputs = {{"x", Tensor::of_f32({4}, {-2, -0.5f, 0, 3})}};
    const Tensor expected = test::run_graph(graph, inputs).at("y");
    ir::Node& host = *graph.nodes()[1];
    EXPECT_EQ(node_activation(host).kind, Activation::none);
    ops::set_activation(host, name, *graph.nodes()[0]);
    const NodeActivation activation = node_activation(host);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(activation(inputs.at("x").f32()[i]), expected.f32()[i]) << name;
    }
  }
}

TEST(NodeActivation, RefusesWhatNoKernelApplies) {
  ir::Graph graph = test::typed_graph("graph(x: f32[4] feed) { s = add(x, x) return }");
  graph.nodes()[0]->attributes().set("activation", std::string("hard_sigmoid"));
  EXPECT_THROW(node_activation(*graph.nodes()[0]), InternalError);
}

}  // namespace
}  // namespace pando::kernels
