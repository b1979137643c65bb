// The schema check that all ops share, and the builder on top of it.
// SPDX-License-Identifier: MIT
#include "pando/ops/op.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/ir/text.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/builder.h"
#include "tests/ops/infer_text.h"
#include "tests/support/expect_error.h"

namespace pando::ops {
namespace {

using test::infer_text;
using testing_support::error_of;

TEST(OpTable, FindsByNameAndSuggests) {
  EXPECT_EQ(builtin_ops().get("relu").name, "relu");
  EXPECT_EQ(builtin_ops().find("rel"), nullptr);
  EXPECT_SAYS(error_of([] { builtin_ops().get("rellu"); }), "op 'rellu'", "did you mean 'relu'?");
}

TEST(OpTable, RefusesTwoOpsOfOneName) {
  EXPECT_THROW(OpTable({{.name = "a"}, {.name = "a"}}), InternalError);
}

TEST(OpTable, AttributesThatNameOpsTakeThoseWithTheTrait) {
  const OpTable table({{.name = "b", .traits = {Trait::post_op}},
                       {.name = "host",
                        .attributes = {{.name = "activation",
                                        .fallback = std::string("none"),
                                        .names_op = Trait::post_op}}},
                       {.name = "a", .traits = {Trait::activation, Trait::post_op}}});
  EXPECT_EQ(table.names_with(Trait::post_op), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table.names_with(Trait::activation), std::vector<std::string>{"a"});
  EXPECT_EQ(table.get("host").attribute("activation")->choices,
            (std::vector<std::string>{"none", "a", "b"}));
  EXPECT_EQ(table.get("host").attribute("alpha"), nullptr);
}

TEST(Schema, CountsInputsAndOutputs) {
  EXPECT_SAYS(infer_text("x: f32[2]", "y = relu(x, x)"), "relu 'relu'", "inputs (x)", "got 2");
  EXPECT_SAYS(infer_text("x: f32[2]", "y = add(x) @sum"), "add 'sum'", "inputs (a, b)", "got 1");
  EXPECT_SAYS(infer_text("x: f32[2,3]", "y = dense(x)"), "dense 'dense'",
              "inputs (x, filter, bias?)", "got 1");
  EXPECT_SAYS(infer_text("x: f32[2]", "y = concat()"), "concat 'concat'", "inputs (x...)", "got 0");
  EXPECT_SAYS(infer_text("x: f32[2]", "y, z = relu(x)"), "relu 'relu'", "outputs (y)", "got 2");
  EXPECT_SAYS(infer_text("x: f32[2,2,2,1]", "y = max_pool(x) {window=[2,2]}"),
              "max_pool 'max_pool'", "outputs (y, index)", "got 1");
}

TEST(Schema, ChecksAttributes) {
  EXPECT_SAYS(infer_text("x: f32[2]", "y = leaky_relu(x) {alpha=\"a\"}"), "leaky_relu 'leaky_relu'",
              "attribute 'alpha': expected a number", "got a string");
  EXPECT_EQ(infer_text("x: f32[2]", "y = leaky_relu(x) {alpha=1}"), "f32[2]");
  EXPECT_SAYS(infer_text("x: f32[2]", "y = relu(x) {alpha=1.0}"), "relu 'relu'",
              "unknown attribute 'alpha'");
  EXPECT_SAYS(infer_text("x: f32[2]", "y = cast(x) {dtype=\"f33\"}"), "cast 'cast'", "dtype 'f33'",
              "did you mean 'f32'?", "f32, f16, i32, bf16, u8");
  EXPECT_SAYS(infer_text("a: f32[2]", "y = add(a, a) {activation=\"rellu\"}"), "add 'add'",
              "activation 'rellu'", "did you mean 'relu'?", "relu6", "leaky_relu");
}

TEST(Schema, ResultsHaveExtentsThatCanBeCounted) {
  const std::string most = std::to_string(int64_t{1} << 48),
                    half = std::to_string(int64_t{1} << 47);
  EXPECT_EQ(infer_text("x: f32[1," + half + "]", "y = concat(x, x)"), "f32[1," + most + "]");
  EXPECT_SAYS(infer_text("x: f32[1," + most + "]", "y = concat(x, x) @twice"), "concat 'twice'",
              "[1,562949953421312]", "at most " + most);
  EXPECT_SAYS(infer_text("x: f32[1," + half + ",3]", "y = relu(x)"), "relu", "too many elements");
}

TEST(AttributeValues, FallBackToTheDefaultsOfTheOp) {
  const ir::Graph graph = ir::parse_graph(
      "graph(x: f32[2] feed) { a = leaky_relu(x) b = leaky_relu(x) {alpha=2} c = cast(x)"
      " d = dropout(x) {key=5} e = pad(x)"
      " f = normalise_pixels(x) {scale=[1,2]} return result e=e }");
  const auto node = [&](size_t i) -> const ir::Node& { return *graph.nodes()[i]; };
  EXPECT_EQ(number_attribute(node(0), "alpha"), 0.3);
  EXPECT_EQ(number_attribute(node(1), "alpha"), 2);
  EXPECT_EQ(text_attribute(node(2), "dtype"), "f32");
  EXPECT_EQ(int_attribute(node(3), "key"), 5);
  EXPECT_EQ(ints_attribute(node(4), "low"), ir::Ints{});
  EXPECT_EQ(numbers_attribute(node(5), "scale"), (ir::Numbers{1, 2}));
  EXPECT_EQ(numbers_attribute(node(5), "shift"), ir::Numbers{});
  EXPECT_THROW(int_attribute(node(0), "beta"), InternalError);
}

TEST(Builder, AppendsTypedNodesOrNothing) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::InputRole::feed, ir::TensorType{DType::f32, {2, 3}});
  const ir::Node* node =
      append(graph, {.op = "reshape", .inputs = {x}, .attributes = {{"shape", ir::Ints{3, 1}}}});
  EXPECT_EQ(node->output()->shape(), (Shape{2, 3, 1}));
  EXPECT_THROW(append(graph, {.op = "reshape", .inputs = {x}}), InvalidArgument);
  EXPECT_EQ(graph.nodes().size(), 1u);
}

TEST(Traits, AreAskedByNode) {
  const ir::Graph graph =
      ir::parse_graph("graph(x: f32[2] feed) { a = relu(x) return result a=a }");
  EXPECT_TRUE(has_trait(*graph.nodes()[0], Trait::in_place));
  EXPECT_FALSE(has_trait(*graph.nodes()[0], Trait::no_grad));
}

}  // namespace
}  // namespace pando::ops
