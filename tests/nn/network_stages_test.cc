// The pipeline stages of networks: reads, checks and changes them, and builds graphs with them.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "pando/ir/text.h"
#include "pando/nn/layers.h"
#include "pando/nn/network.h"
#include "pando/nn/pipeline_stage.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;
using Stages = std::vector<int>;

Stages stages_of(const Network& network) {
  Stages stages;
  for (const StageAssignment& entry : network.stage_assignment()) {
    stages.push_back(entry.pipeline_stage);
  }
  return stages;
}

Network chain() {
  return Sequential({4}, {Dense({.units = 4, .name = "a"}), ReLU({.name = "b"}),
                          Dense({.units = 2, .name = "c"}), Softmax({.name = "d"})});
}

// stem -> body -> join, and a shortcut that is executed after body.
Network residual() {
  const SymbolicTensor input = Input({4}, {.name = "in"});
  const SymbolicTensor x = Dense({.units = 4, .name = "stem"})(input);
  const SymbolicTensor body = Dense({.units = 4, .name = "body"})(x);
  const SymbolicTensor shortcut = Dense({.units = 4, .name = "shortcut"})(x);
  return Network(input, Add({.name = "join"})({body, shortcut}));
}

Network shared() {
  const SymbolicTensor input = Input({4});
  const Layer twice = Dense({.units = 4, .name = "twice"});
  return Network(input, twice(ReLU({.name = "between"})(twice(input))));
}

// The assignment of the network with these stages instead of its own.
std::vector<StageAssignment> edited(const Network& network, const Stages& stages) {
  std::vector<StageAssignment> assignment = network.stage_assignment();
  for (size_t i = 0; i < stages.size(); ++i) assignment[i].pipeline_stage = stages[i];
  return assignment;
}

TEST(NetworkStages, AreOneWhenNoneIsAssigned) {
  EXPECT_EQ(chain().stages(), 1);
  EXPECT_EQ(stages_of(chain()), (Stages{-1, -1, -1, -1}));
}

TEST(NetworkStages, AssignmentListsCallsInExecutionOrder) {
  const std::vector<StageAssignment> assignment = residual().stage_assignment();
  ASSERT_EQ(assignment.size(), 4u);
  EXPECT_EQ(assignment[0].layer, "stem");
  EXPECT_EQ(assignment[0].inbound_layers, std::vector<std::string>{"in"});
  EXPECT_EQ(assignment[2].layer, "shortcut");
  EXPECT_EQ(assignment[3].inbound_layers, (std::vector<std::string>{"body", "shortcut"}));
}

TEST(NetworkStages, EachCallOfASharedLayerHasItsOwn) {
  const std::vector<StageAssignment> assignment = shared().stage_assignment();
  EXPECT_EQ(assignment[0].node_index, 0);
  EXPECT_EQ(assignment[2].layer, "twice");
  EXPECT_EQ(assignment[2].node_index, 1);
  EXPECT_EQ(stages_of(shared().with_stages(edited(shared(), {0, 0, 1}))), (Stages{0, 0, 1}));
}

TEST(NetworkStages, AreEditedAndRemoved) {
  const Network network = residual();
  const Network staged = network.with_stages(edited(network, {0, 1, 0, 1}));
  EXPECT_EQ(stages_of(staged), (Stages{0, 1, 0, 1}));
  EXPECT_EQ(staged.stages(), 2);
  EXPECT_EQ(network.stages(), 1);
  EXPECT_EQ(stages_of(staged.without_stages()), (Stages{-1, -1, -1, -1}));
  EXPECT_EQ(stages_of(staged.with_stages(network.stage_assignment())), (Stages{-1, -1, -1, -1}));
}

TEST(NetworkStages, AnAssignmentMustBeOfThisNetwork) {
  const Network network = residual();
  std::vector<StageAssignment> other = edited(network, {0, 0, 0, 0});
  std::swap(other[1], other[2]);
  EXPECT_SAYS(error_of([&] { network.with_stages(other); }), "entry 1",
              "expected 'body' (node index 0)", "got 'shortcut' (node index 0)");
  other = edited(shared(), {0, 0, 0});
  other[2].node_index = 0;
  EXPECT_SAYS(error_of([&] { shared().with_stages(other); }), "entry 2",
              "expected 'twice' (node index 1)", "got 'twice' (node index 0)");
  other = edited(network, {0, 0, 0, 0});
  other.pop_back();
  EXPECT_SAYS(error_of([&] { network.with_stages(other); }), "expected 4 entries", "got 3",
              "'join'");
  other = edited(network, {0, 0, 0, 0});
  other.push_back({.layer = "more"});
  EXPECT_SAYS(error_of([&] { network.with_stages(other); }), "expected 4 entries", "got 5",
              "'more'");
}

TEST(NetworkStages, RulesOfAnAssignment) {
  const auto message = [](const Network& network, const Stages& stages) {
    return error_of([&] { network.with_stages(edited(network, stages)); });
  };
  EXPECT_SAYS(message(residual(), {0, 1, 2, 1}), "layer 'join' in pipeline stage 1",
              "'shortcut' in stage 2");
  EXPECT_SAYS(message(shared(), {1, 0, 1}), "'twice' (call 0) in stage 1");
  EXPECT_SAYS(message(residual(), {0, 2, 2, 3}), "pipeline stage 1", "no layer");
  EXPECT_SAYS(message(residual(), {1, 1, 1, 1}), "pipeline stage 0", "no layer");
  EXPECT_SAYS(message(residual(), {0, 0, -1, 1}), "layer 'shortcut' has no pipeline stage");
  EXPECT_SAYS(message(residual(), {0, 0, -2, 1}), "the stage of 'shortcut' (node index 0)",
              "got -2");
}

TEST(NetworkStages, ScopesAreCheckedWhenTheNetworkIsMade) {
  const auto network = [](int first, int second) {
    const SymbolicTensor input = Input({4});
    const auto call = [](int stage, const Layer& layer, const SymbolicTensor& x) {
      if (stage < 0) return layer(x);
      const PipelineStage scope(stage);
      return layer(x);
    };
    const SymbolicTensor x = call(first, Dense({.units = 4, .name = "one"}), input);
    return Network(input, call(second, Dense({.units = 2, .name = "two"}), x));
  };
  EXPECT_EQ(stages_of(network(0, 1)), (Stages{0, 1}));
  EXPECT_SAYS(error_of([&] { network(0, -1); }), "layer 'two' has no pipeline stage");
  EXPECT_SAYS(error_of([&] { network(-1, 0); }), "all layers or to none");
  EXPECT_SAYS(error_of([&] { network(1, 0); }), "layer 'two' in pipeline stage 0");
  EXPECT_SAYS(error_of([&] { network(0, 2); }), "stage 1", "no layer");
}

TEST(NetworkStages, NumbersForAChain) {
  EXPECT_EQ(stages_of(chain().with_stages({0, 0, 1, 2})), (Stages{0, 0, 1, 2}));
  EXPECT_EQ(stages_of(shared().with_stages({0, 1, 1})), (Stages{0, 1, 1}));
  const auto message = [](const Stages& stages) {
    return error_of([&] { chain().with_stages(stages); });
  };
  EXPECT_SAYS(message({0, 0, 1}), "expected 4", "got 3");
  EXPECT_SAYS(message({1, 1, 1, 1}), "layer 'a'", "expected 0", "got 1");
  EXPECT_SAYS(message({0, 0, 2, 2}), "layer 'c'", "expected 0", "or one more", "got 2");
  EXPECT_SAYS(message({0, 1, 0, 1}), "layer 'c'", "expected 1", "got 0");
  EXPECT_SAYS(error_of([] { residual().with_stages({0, 0, 0, 0}); }), "chain", "layer 'shortcut'");
  const SymbolicTensor a = Input({4}), b = Input({4});
  EXPECT_SAYS(error_of([&] {
                Network({a, b}, ReLU()(Dense({.units = 2})(b))).with_stages({0, 0});
              }),
              "chain", "layer 'dense'");
}

TEST(NetworkStages, SplitsStartStages) {
  EXPECT_EQ(stages_of(chain().with_splits({"b", "d"})), (Stages{0, 1, 1, 2}));
  EXPECT_EQ(stages_of(residual().with_splits({"shortcut"})), (Stages{0, 0, 1, 1}));
  EXPECT_EQ(stages_of(shared().with_splits({"between"})), (Stages{0, 1, 1}));
  EXPECT_EQ(chain().with_splits({"b", "d"}).with_splits({}).stages(), 1);
}

TEST(NetworkStages, SplitsThatCannotBe) {
  const auto message = [](const Network& network, const std::vector<std::string>& names) {
    return error_of([&] { network.with_splits(names); });
  };
  EXPECT_SAYS(message(residual(), {"shortcat"}), "did you mean 'shortcut'");
  EXPECT_SAYS(message(chain(), {"d", "b"}), "'b' comes before 'd'", "layers: a, b, c, d");
  EXPECT_SAYS(message(chain(), {"b", "b"}), "'b' is given twice", "layers: a, b, c, d");
  EXPECT_SAYS(message(chain(), {"a"}), "'a' is the first layer", "a, b, c, d");
  EXPECT_SAYS(message(residual(), {"in"}), "'in' is an input", "stage 0");
  const SymbolicTensor x = Input({4});
  const Layer twice = Dense({.units = 4, .name = "twice"});
  EXPECT_SAYS(message(Network(x, twice(twice(ReLU()(x)))), {"twice"}), "layer 'twice'", "2 times");
}

TEST(NetworkStages, NodesBelongToTheStageOfTheirLayer) {
  const Network network = chain().with_splits({"b", "d"});
  const NetworkGraph built = network.build({.batch = 2, .training = true});
  for (const auto& node : built.graph.nodes()) {
    const int wanted = node->name() == "a" ? 0 : node->name() == "d" ? 2 : 1;
    EXPECT_EQ(node->stage(), wanted) << node->name();
  }
  EXPECT_EQ(built.graph.current_stage(), 2);
}

TEST(NetworkStages, AGraphWithoutStagesOnRequest) {
  const Network network = chain().with_splits({"c"});
  const NetworkGraph plain = network.build({.stages = false});
  EXPECT_EQ(plain.graph.current_stage(), 0);
  EXPECT_EQ(ir::to_text(plain.graph), ir::to_text(chain().build({}).graph));
  EXPECT_NE(ir::to_text(plain.graph), ir::to_text(network.build({}).graph));
}

TEST(NetworkStages, TheLastStageIsCurrentWhereAnEarlierOneIsExecutedLate) {
  const Network network = residual().with_stages(edited(residual(), {0, 1, 0, 1}));
  const NetworkGraph built = network.build({});
  std::vector<int> stages;
  for (const auto& node : built.graph.nodes()) stages.push_back(node->stage());
  EXPECT_EQ(stages, (Stages{0, 1, 0, 1}));
  EXPECT_EQ(built.graph.current_stage(), 1);
}

}  // namespace
}  // namespace pando
