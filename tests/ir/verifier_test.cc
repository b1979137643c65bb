#include "pando/ir/verifier.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/ir/text.h"

namespace pando::ir {
namespace {

TEST(Verifier, AcceptsAGoodGraph) {
  EXPECT_NO_THROW(
      verify(parse_graph("graph(x: f32[2] feed, w: f32[2] variable) { a = add(x, w) return result "
                         "a=a, gradient w=a }")));
}

TEST(Verifier, FindsUseBeforeDefinition) {
  Graph graph = parse_graph("graph(x: f32[2] feed) { a = relu(x) b = relu(a) return result b=b }");
  graph.nodes()[0]->set_input(0, graph.find_value("b"));
  EXPECT_THROW(verify(graph), InternalError);
}

TEST(Verifier, GradientNeedsItsVariable) {
  EXPECT_THROW(verify(parse_graph("graph(x: f32[2] feed) { a = relu(x) return gradient x=a }")),
               InternalError);
  EXPECT_THROW(verify(parse_graph("graph(x: f32[3] feed, w: f32[2] variable) { a: f32[3] = relu(x) "
                                  "return gradient w=a }")),
               InternalError);
}

TEST(Verifier, StatisticHoldsTheMomentsOfItsState) {
  const auto graph = [](const std::string& moments) {
    return parse_graph("graph(x: f32[4,3] feed, m: f32[3] state) { s: f32[" + moments +
                       "] = batch_moments(x) return statistic m=s }");
  };
  EXPECT_NO_THROW(verify(graph("7")));
  EXPECT_THROW(verify(graph("3")), InternalError);
}

}  // namespace
}  // namespace pando::ir
