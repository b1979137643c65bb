#include "pando/ir/graph.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/ir/text.h"

namespace pando::ir {
namespace {

TEST(Graph, NamesAreUnique) {
  Graph graph;
  Value* x = graph.add_input("x", InputRole::feed, TensorType{DType::f32, {2}});
  Node* a = graph.append({.op = "relu", .inputs = {x}, .output_names = {"x"}});
  EXPECT_EQ(a->output()->name(), "x.1");
  EXPECT_THROW(graph.add_input("x", InputRole::feed), InvalidArgument);
}

TEST(Graph, UntypedValueRefusesItsType) {
  Graph graph;
  EXPECT_THROW(graph.add_input("x", InputRole::feed)->type(), InternalError);
}

TEST(Graph, BytesFollowTheLayout) {
  Graph graph;
  Value* k = graph.add_input("k", InputRole::variable, TensorType{DType::f32, {3, 3, 1, 5}});
  EXPECT_EQ(k->bytes(), 180u);
  k->set_layout({"panel", 72});
  EXPECT_EQ(k->bytes(), 288u);
}

TEST(Graph, DeadNodesGoTogether) {
  Graph graph = parse_graph(
      "graph(x: f32[2] feed) { a = relu(x) b = relu(a) c = relu(x) return result c=c }");
  EXPECT_EQ(graph.erase_dead_nodes(), 2);
  EXPECT_EQ(to_text(graph), "graph(x: f32[2] feed) {\n  c = relu(x)\n  return result c=c\n}\n");
  EXPECT_THROW(graph.erase(graph.nodes()[0].get()), InternalError);
}

TEST(Graph, AnInputThatNothingUsesCanGo) {
  Graph graph = parse_graph("graph(x: f32[2] feed, y: u8[2] feed) { return result x=x }");
  graph.erase_input(graph.find_value("y"));
  EXPECT_EQ(to_text(graph), "graph(x: f32[2] feed) {\n  return result x=x\n}\n");
  EXPECT_THROW(graph.erase_input(graph.find_value("x")), InternalError);
}

TEST(Graph, ReplaceAndInsert) {
  Graph graph = parse_graph("graph(x: f32[2] feed) { a = relu(x) b = tanh(a) return result b=b }");
  Node* tanh = graph.nodes()[1].get();
  Node* added = graph.insert_before(tanh, {.op = "sigmoid", .inputs = {graph.find_value("a")}});
  tanh->set_input(0, added->output());
  EXPECT_EQ(graph.users(graph.find_value("a")), std::vector<Node*>{added});
  graph.replace_uses(tanh->output(), added->output());
  EXPECT_TRUE(graph.is_output(added->output()));
  EXPECT_EQ(graph.erase_dead_nodes(), 1);
}

TEST(Graph, StagesOfNewNodes) {
  Graph graph;
  Value* x = graph.add_input("x", InputRole::feed, TensorType{DType::f32, {2}});
  graph.set_current_stage(1);
  Node* first = graph.append({.op = "relu", .inputs = {x}});
  EXPECT_EQ(first->stage(), 1);
  graph.set_current_stage(2);
  EXPECT_EQ(graph.insert_before(first, {.op = "relu", .inputs = {x}})->stage(), 1);
}

TEST(Graph, ReorderTakesTheSameNodesOnly) {
  Graph graph;
  Value* x = graph.add_input("x", InputRole::feed, TensorType{DType::f32, {2}});
  Node* a = graph.append({.op = "relu", .inputs = {x}});
  Node* b = graph.append({.op = "tanh", .inputs = {x}});
  graph.reorder({b, a});
  EXPECT_EQ(graph.nodes()[0].get(), b);
  EXPECT_THROW(graph.reorder({a}), InternalError);
}

}  // namespace
}  // namespace pando::ir
