#include "pando/ir/text.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"

namespace pando::ir {
namespace {

constexpr std::string_view kText =
    R"(graph(x: f32[8,28,28,1] feed, conv/k: f32[3,3,1,32] variable) {
  k2: f32[3,3,1,32] %panel:288 = pack(conv/k) {layout="panel"}
  c: f32[8,26,26,32] = conv(x, k2) {padding="valid", strides=[1,1]} @block1/c2
  y: f32[8,13,13,32], index: u8[8,13,13,32] = max_pool(c) {alpha=0.25, count=3, window=[2,2]}
  return result output=y, gradient conv/k=k2
}
)";

TEST(Text, PrintsWhatItParses) { EXPECT_EQ(to_text(parse_graph(kText)), kText); }

TEST(Text, TypesOfNodesAreOptional) {
  const Graph graph = parse_graph("graph(x: f32[2] feed) { y = relu(x) return result y=y }");
  EXPECT_FALSE(graph.find_value("y")->typed());
  EXPECT_EQ(to_text(graph, {.types = false}),
            "graph(x: f32[2] feed) {\n  y = relu(x)\n  return result y=y\n}\n");
}

TEST(Text, NumbersRoundTripExactly) {
  for (const double value : {0.1, 1e-30, 1e300, -2.0, 1.0 / 3}) {
    Graph graph = parse_graph("graph(x: f32[2] feed) { y = scale(x) return result y=y }");
    graph.nodes()[0]->attributes().set("factor", value);
    const Graph again = parse_graph(to_text(graph));
    EXPECT_EQ(again.nodes()[0]->attributes().get_double("factor"), value);
  }
}

TEST(Text, ListsAreOfIntegersOrOfNumbers) {
  const std::string text =
      "graph(x: f32[2] feed) {\n  y = op(x) {a=[1,2], b=[1.0,-0.25,1e+30], c=[]}\n"
      "  return result y=y\n}\n";
  const Graph graph = parse_graph(text);
  const auto& values = graph.nodes()[0]->attributes().values();
  EXPECT_EQ(values.at("a"), Attribute(Ints{1, 2}));
  EXPECT_EQ(values.at("b"), Attribute(Numbers{1, -0.25, 1e30}));
  EXPECT_EQ(values.at("c"), Attribute(Ints{}));
  EXPECT_EQ(to_text(graph), text);
  const Graph mixed =
      parse_graph("graph(x: f32[2] feed) { y = op(x) {a=[1, 0.5]} return result y=y }");
  EXPECT_EQ(mixed.nodes()[0]->attributes().values().at("a"), Attribute(Numbers{1, 0.5}));
}

TEST(Text, StagesArePrintedAndRead) {
  const std::string text =
      "graph(x: f32[2] feed) {\n  y = relu(x) @a ^2\n  z = relu(y)\n  return result y=z\n}\n";
  const Graph graph = parse_graph(text);
  EXPECT_EQ(graph.nodes()[0]->stage(), 2);
  EXPECT_EQ(graph.nodes()[1]->stage(), 0);
  EXPECT_EQ(to_text(graph), text);
}

void expect_error(std::string_view text, std::string_view part) {
  try {
    parse_graph(text);
    FAIL() << text;
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
  }
}

TEST(Text, ErrorsSayWhere) {
  expect_error("graph(x: f32[2] feed) {\n y = relu(z)\n return result y=y }",
               "line 2, column 12: value 'z'");
  expect_error("graph(x: f33[2] feed) { return result y=x }", "unknown dtype 'f33'");
  expect_error("graph(x: f32[2] food) { return result y=x }", "'food'");
  expect_error("graph(x: f32[2] feed) { x = relu(x) return result y=x }", "defined twice");
  expect_error("graph(x: f32[2] feed) { y = relu(x) {a=\"b} return result y=y }",
               "end of a string");
  expect_error("graph(x: f32[2] feed) { y = relu(x) {a=b} return result y=y }",
               "expected a number");
  expect_error("graph(x: f32[2] feed) { y = relu(x) return gain y=y }", "'gain'");
  expect_error("graph(x: f32[2] feed) { return result y=x } more", "after the end");
  expect_error("graph(x: f32[a] feed) { return result y=x }", "expected an integer");
  expect_error("graph(x: f32[2] feed) {", "expected a name");
  expect_error("graph(x: f32[2] feed) { y = relu(x) ^-1 return result y=y }", "-1");
  expect_error("grph()", "expected 'graph'");
}

}  // namespace
}  // namespace pando::ir
