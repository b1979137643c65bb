#include <gtest/gtest.h>

#include "pando/compiler/program.h"
#include "pando/ops/op.h"
#include "tests/compiler/pass_testing.h"
#include "tests/support/training_graphs.h"

namespace pando::compiler {
namespace {

constexpr size_t kBlock = 64;

// Plays a step: each node must find its inputs whole where they were written, and what is read
// after the step or by other slices must still be there at the end.
class Playback {
 public:
  Playback(const ir::Graph& graph, const MemoryPlan& plan) : graph_(graph), plan_(plan) {}

  void run() {
    for (const ir::Value* value : graph_.inputs()) {
      if (value->role() == ir::InputRole::feed) write(value);
    }
    // Packed variables are written before all else.
    for (const auto& node : graph_.nodes()) {
      if (ops::has_trait(*node, ops::Trait::per_update)) write(node->output());
    }
    for (const auto& node : graph_.nodes()) play(*node);
    for (const auto& node : graph_.nodes()) {
      if (!ops::has_trait(*node, ops::Trait::gathers_slices)) continue;
      for (const ir::Value* value : node->inputs()) expect_whole(value, "gathered by others");
    }
    for (const ir::Output& output : graph_.outputs()) expect_whole(output.value, "an output");
  }

 private:
  void play(const ir::Node& node) {
    if (ops::has_trait(node, ops::Trait::per_update)) return;
    for (const ir::Value* value : node.inputs()) expect_whole(value, "read by " + node.label());
    if (ops::has_trait(node, ops::Trait::view)) {
      root_[node.output()] = root(node.input(0));
      expect_whole(node.output(), "a view");
      return;
    }
    for (const ir::Value* value : node.outputs()) write(value);
    for (const ir::Value* value : node.outputs()) expect_whole(value, "written");
  }

  const ir::Value* root(const ir::Value* value) const {
    const auto found = root_.find(value);
    return found == root_.end() ? value : found->second;
  }

  void write(const ir::Value* value) {
    const Place& place = plan_.places.at(value);
    EXPECT_EQ(place.offset % kBlock, 0u);
    auto& blocks = memory_[place.region];
    const size_t end = (place.offset + value->bytes() + kBlock - 1) / kBlock;
    blocks.resize(std::max(blocks.size(), end));
    EXPECT_LE(end * kBlock, size_of_region(place.region)) << value->name();
    for (size_t block = place.offset / kBlock; block < end; ++block) blocks[block] = value;
  }

  void expect_whole(const ir::Value* value, const std::string& why) const {
    const auto found = plan_.places.find(value);
    if (found == plan_.places.end()) {
      EXPECT_TRUE(value->is_input()) << value->name() << " has no place";
      return;
    }
    const auto& blocks = memory_.at(found->second.region);
    const size_t end = (found->second.offset + value->bytes() + kBlock - 1) / kBlock;
    for (size_t block = found->second.offset / kBlock; block < end; ++block) {
      if (blocks[block] == root(value)) continue;
      ADD_FAILURE() << value->name() << ", " << why << ", is overwritten by "
                    << blocks[block]->name();
      return;
    }
  }

  size_t size_of_region(Region region) const {
    if (region == Region::activations) return plan_.activation_bytes;
    return region == Region::sums ? plan_.sum_bytes : plan_.packed_bytes;
  }

  const ir::Graph& graph_;
  const MemoryPlan& plan_;
  std::map<Region, std::vector<const ir::Value*>> memory_;
  std::unordered_map<const ir::Value*, const ir::Value*> root_;
};

class PlanOfNetwork : public testing::TestWithParam<std::pair<const char*, Shape>> {
 protected:
  void check(const CompileOptions& options, bool shares) const {
    const TestNetwork network = test_network(GetParam().first, GetParam().second);
    const auto program = compile(training_graph(network, 4), options);
    Playback(program->graph(), program->memory()).run();
    const MemoryPlan& plan = program->memory();
    if (shares) {
      EXPECT_LT(plan.activation_bytes + plan.sum_bytes, plan.unshared_bytes);
    } else {
      EXPECT_EQ(plan.activation_bytes + plan.sum_bytes, plan.unshared_bytes);
    }
  }
};

TEST_P(PlanOfNetwork, NoValueIsOverwrittenWhileLive) { check({.slices = 2}, true); }

TEST_P(PlanOfNetwork, NorWithoutFusion) {
  check({.disabled_passes = {"fuse-post-ops", "fuse-pool-grad", "fuse-conv-pool",
                             "fuse-batch-norm-grad", "erase-dead"}},
        true);
}

TEST_P(PlanOfNetwork, EveryValueHasItsOwnPlaceWhenSwitchedOff) {
  check({.disabled_passes = {"plan-memory"}}, false);
}

INSTANTIATE_TEST_SUITE_P(Zoo, PlanOfNetwork,
                         testing::Values(std::pair{"mnist_cnn", Shape{28, 28, 1}},
                                         std::pair{"toy_model_bn", Shape{32, 32, 3}},
                                         std::pair{"cifar_resnet8", Shape{32, 32, 3}},
                                         std::pair{"cosmoflow", Shape{32, 32, 32, 4}}),
                         [](const auto& network) { return std::string(network.param.first); });

// The plan of IR text, and the place of one of its values.
struct Planned {
  CompileState state;
  explicit Planned(std::string_view text) : state(typed_state(text)) {
    PlanMemory().run(state);
    Playback(state.graph, state.memory).run();
  }
  size_t offset(std::string_view name) const {
    return state.memory.places.at(state.graph.find_value(name)).offset;
  }
  Region region(std::string_view name) const {
    return state.memory.places.at(state.graph.find_value(name)).region;
  }
};

TEST(PlanMemory, ChangesPlacesOnly) {
  expect_unchanged<PlanMemory>("graph(x: f32[2,3] feed) { y = relu(x) return result y=y }");
}

TEST(PlanMemory, ElementwiseResultsOverwriteWhatNobodyReadsAgain) {
  const Planned plan(R"(graph(x: f32[4,16] feed) {
    a = tanh(x)
    b = tanh(a)
    c = tanh(b)
    return result c=c })");
  EXPECT_NE(plan.offset("a"), plan.offset("x"));  // feeds are kept
  EXPECT_EQ(plan.offset("b"), plan.offset("a"));
  EXPECT_EQ(plan.offset("c"), plan.offset("a"));
  EXPECT_EQ(plan.state.memory.activation_bytes, 2 * 4 * 16 * sizeof(float));
  EXPECT_EQ(plan.state.memory.unshared_bytes, 4 * 4 * 16 * sizeof(float));  // x, a, b, c
}

TEST(PlanMemory, ElementwiseResultsSpareWhatIsReadAgain) {
  const Planned plan(R"(graph(x: f32[4,16] feed) {
    a = tanh(x)
    b = tanh(a)
    c = add(b, a)
    return result c=c })");
  EXPECT_NE(plan.offset("b"), plan.offset("a"));
  EXPECT_EQ(plan.offset("c"), plan.offset("b"));
}

TEST(PlanMemory, ViewsLieInTheirSource) {
  const Planned plan(R"(graph(x: f32[4,2,2,4] feed) {
    a = tanh(x)
    v = reshape(a) {shape=[16]}
    b = softmax(v)
    c = relu(a)
    return result b=b, result c=c, result v=v })");
  EXPECT_EQ(plan.offset("v"), plan.offset("a"));
  EXPECT_NE(plan.offset("c"), plan.offset("a"));                            // v is an output
  EXPECT_EQ(plan.state.memory.unshared_bytes, 4 * 4 * 16 * sizeof(float));  // x, a, b, c
}

TEST(PlanMemory, AViewKeepsItsSourceAlive) {
  const Planned plan(R"(graph(x: f32[4,2,2,4] feed) {
    a = softmax(x)
    v = reshape(a) {shape=[16]}
    b = softmax(x)
    c = softmax(v)
    d = reshape(c) {shape=[2,2,4]}
    e = add(d, b)
    return result e=e })");
  EXPECT_NE(plan.offset("b"), plan.offset("a"));
}

TEST(PlanMemory, WhatOtherSlicesReadLivesToTheEnd) {
  const Planned plan(R"(graph(x: f32[4,16] feed, g: f32[16] variable, b: f32[16] variable) {
    m = batch_moments(x)
    mean, variance, unbiased = combine_moments(m)
    y = batch_norm(x, mean, variance, g, b) {batch_statistics=1}
    n = batch_moments(y)
    mean2, variance2, unbiased2 = combine_moments(n)
    z = batch_norm(y, mean2, variance2, g, b) {batch_statistics=1}
    return result z=z })");
  EXPECT_EQ(plan.region("m"), Region::sums);
  EXPECT_EQ(plan.region("mean"), Region::sums);
  EXPECT_EQ(plan.region("y"), Region::activations);
  // Without the rule, n would fit where m was.
  EXPECT_NE(plan.offset("n"), plan.offset("m"));
}

TEST(PlanMemory, SumsOfSumsAreSums) {
  const Planned plan(R"(graph(x: f32[4,8] feed, dy: f32[4,2] feed, k: f32[8,2] variable) {
    a = dense_kernel_grad(x, dy)
    b = dense_kernel_grad(x, dy)
    d = add(a, b)
    y = dense(x, k)
    return gradient k=d, result y=y })");
  EXPECT_EQ(plan.region("d"), Region::sums);
  EXPECT_EQ(plan.region("y"), Region::activations);
  // x, dy and y in blocks of 64 bytes; a, b and d, although d overwrites a.
  EXPECT_EQ(plan.state.memory.unshared_bytes, 128u + 64 + 64 + 3 * 64);
  EXPECT_EQ(plan.state.memory.sum_bytes, 2u * 64);
}

TEST(PlanMemory, AViewOfAVariableIsRefused) {
  EXPECT_THROW(Planned(R"(graph(x: f32[4,8] feed, k: f32[8,2] variable) {
    v = reshape(k) {shape=[2]}
    y = dense(x, v)
    return result y=y })"),
               InternalError);
}

}  // namespace
}  // namespace pando::compiler
