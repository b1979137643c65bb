#include <gtest/gtest.h>

#include "pando/compiler/program.h"
#include "pando/ops/op.h"
#include "tests/compiler/pass_testing.h"
#include "tests/support/training_graphs.h"

namespace pando::compiler {
namespace {

constexpr size_t kBlock = 64;

// Plays a step: each node must find its inputs whole where they were written, what is read after a
// section or by other slices must still be there at its end, and what does not live longer than
// its section is gone after it.
class Playback {
 public:
  explicit Playback(const CompileState& state) : Playback(state.graph, state.memory) {
    section_ = [&state](const ir::Node* node) {
      return state.sections.empty() ? 0 : state.section_of.at(node);
    };
  }
  explicit Playback(const Program& program) : Playback(program.graph(), program.memory()) {
    for (size_t i = 0; i < program.sections().size(); ++i) {
      for (const Segment& segment : program.sections()[i].segments) {
        for (const int call : segment.calls) {
          known_[program.calls()[static_cast<size_t>(call)].node] = static_cast<int>(i);
        }
      }
    }
    section_ = [this](const ir::Node* node) {
      // Views and packs are no calls of a section.
      const auto found = known_.find(node);
      return found == known_.end() ? current_ : found->second;
    };
  }

  void run() {
    for (const ir::Value* value : graph_.inputs()) {
      if (value->role() == ir::InputRole::feed) write(value);
    }
    // Packed variables are written before all else.
    for (const auto& node : graph_.nodes()) {
      if (ops::has_trait(*node, ops::Trait::per_update)) write(node->output());
    }
    std::vector<const ir::Node*> of_section;
    for (const auto& node : graph_.nodes()) {
      if (ops::has_trait(*node, ops::Trait::per_update)) continue;
      if (section_(node.get()) != current_) end_section(of_section);
      current_ = section_(node.get());
      of_section.push_back(node.get());
      play(*node);
    }
    end_section(of_section);
    for (const ir::Output& output : graph_.outputs()) {
      if (output.role == ir::OutputRole::gradient || output.role == ir::OutputRole::statistic) {
        expect_whole(output.value, "accumulated");
      }
    }
  }

 private:
  using Key = std::pair<Region, int>;

  Playback(const ir::Graph& graph, const MemoryPlan& plan) : graph_(graph), plan_(plan) {}

  void end_section(std::vector<const ir::Node*>& nodes) {
    for (const ir::Node* node : nodes) {
      if (ops::has_trait(*node, ops::Trait::gathers_slices)) {
        for (const ir::Value* value : node->inputs()) expect_whole(value, "gathered by others");
      }
      for (const ir::Value* value : node->outputs()) {
        if (graph_.is_output(value)) expect_whole(value, "an output");
      }
    }
    nodes.clear();
    for (auto& [key, blocks] : memory_) {
      if (key.first == Region::activations || key.first == Region::sums) {
        std::fill(blocks.begin(), blocks.end(), nullptr);
      }
    }
  }

  void play(const ir::Node& node) {
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
    auto& blocks = memory_[{place.region, place.stage}];
    const size_t end = (place.offset + value->bytes() + kBlock - 1) / kBlock;
    blocks.resize(std::max(blocks.size(), end));
    EXPECT_LE(end * kBlock, size_of_region(place)) << value->name();
    for (size_t block = place.offset / kBlock; block < end; ++block) blocks[block] = value;
  }

  void expect_whole(const ir::Value* value, const std::string& why) const {
    const auto found = plan_.places.find(value);
    if (found == plan_.places.end()) {
      EXPECT_TRUE(value->is_input()) << value->name() << " has no place";
      return;
    }
    const auto& blocks = memory_.at({found->second.region, found->second.stage});
    const size_t end = (found->second.offset + value->bytes() + kBlock - 1) / kBlock;
    for (size_t block = found->second.offset / kBlock; block < end; ++block) {
      if (blocks[block] == root(value)) continue;
      ADD_FAILURE() << value->name() << ", " << why << ", is overwritten by "
                    << (blocks[block] == nullptr ? "another section" : blocks[block]->name());
      return;
    }
  }

  size_t size_of_region(const Place& place) const {
    if (place.region == Region::packed) return plan_.packed_bytes;
    StageMemory stage = plan_.stages.at(static_cast<size_t>(place.stage));
    return stage.of(place.region);
  }

  const ir::Graph& graph_;
  const MemoryPlan& plan_;
  std::function<int(const ir::Node*)> section_;
  std::unordered_map<const ir::Node*, int> known_;
  int current_ = 0;
  std::map<Key, std::vector<const ir::Value*>> memory_;
  std::unordered_map<const ir::Value*, const ir::Value*> root_;
};

class PlanOfNetwork : public testing::TestWithParam<std::pair<const char*, Shape>> {
 protected:
  void check(const CompileOptions& options, bool shares) const {
    const TestNetwork network = test_network(GetParam().first, GetParam().second);
    const auto program = compile(training_graph(network, 4), options);
    Playback(*program).run();
    const MemoryPlan& plan = program->memory();
    if (shares) {
      EXPECT_LT(plan.planned_bytes(), plan.unshared_bytes);
    } else {
      EXPECT_EQ(plan.planned_bytes(), plan.unshared_bytes);
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
    Playback(state).run();
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
  EXPECT_EQ(plan.state.memory.stages[0].activations, 2 * 4 * 16 * sizeof(float));
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

TEST(PlanMemory, CheckpointsTakeNoMemory) {
  const Planned plan(R"(graph(x: f32[4,2,2,4] feed) {
    a = tanh(x)
    c = checkpoint(a)
    b = softmax(c)
    return result b=b })");
  EXPECT_EQ(plan.offset("c"), plan.offset("a"));
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
  EXPECT_EQ(plan.region("a"), Region::gradients);
  EXPECT_EQ(plan.region("d"), Region::gradients);
  EXPECT_EQ(plan.region("b"), Region::sums);
  EXPECT_EQ(plan.region("y"), Region::activations);
  // x, dy and y in blocks of 64 bytes; a, b and d, although d overwrites a.
  EXPECT_EQ(plan.state.memory.unshared_bytes, 128u + 64 + 64 + 3 * 64);
  EXPECT_EQ(plan.state.memory.stages[0].sums, 64u);
  EXPECT_EQ(plan.state.memory.stages[0].gradients, 64u);
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
