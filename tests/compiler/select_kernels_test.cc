#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/compiler/program.h"
#include "tests/compiler/pass_testing.h"
#include "tests/support/expect_error.h"

namespace pando::compiler {
namespace {

// Two convolutions with one kernel, and the gradient of the first.
constexpr std::string_view kSharedKernel =
    R"(graph(x: f32[2,8,8,16] feed, dy: f32[2,8,8,16] feed, k: f32[3,3,16,16] variable) {
    a = conv(x, k) {padding="same"} @c1
    b = conv(a, k) {padding="same"} @c2
    d = conv_input_grad(dy, k) {padding="same", input=[8,8]} @c2/grad
    return result b=b, result d=d })";

CompileState assigned(std::string_view text, ProgramOptions options = {}) {
  CompileState state = typed_state(text);
  state.options = std::move(options);
  SelectKernels().run(state);
  return state;
}

std::vector<const ir::Node*> packs(const ir::Graph& graph) {
  std::vector<const ir::Node*> found;
  for (const auto& node : graph.nodes()) {
    if (node->op() == "pack") found.push_back(node.get());
  }
  return found;
}

TEST(SelectKernels, EveryNodeHasAKernel) {
  const CompileState state = assigned(kSharedKernel);
  for (const auto& node : state.graph.nodes()) {
    ASSERT_TRUE(state.kernels.contains(node.get())) << node->label();
    EXPECT_NE(state.kernels.at(node.get()).kernel, nullptr);
  }
  EXPECT_NO_THROW(ir::verify(state.graph));
}

TEST(SelectKernels, PacksAVariableOncePerLayout) {
  const CompileState state = assigned(kSharedKernel);
  std::set<std::string> layouts;
  for (const ir::Node* pack : packs(state.graph)) {
    EXPECT_EQ(pack->input(0)->name(), "k");
    EXPECT_EQ(pack->attributes().get_string("layout"), pack->output()->layout().name);
    EXPECT_TRUE(layouts.insert(pack->output()->layout().name).second) << "packed twice";
  }
  EXPECT_FALSE(layouts.empty());
  // Both convolutions read the same packed kernel.
  const ir::Node* a = state.graph.find_value("a")->producer();
  const ir::Node* b = state.graph.find_value("b")->producer();
  EXPECT_EQ(a->input(1), b->input(1));
  EXPECT_FALSE(a->input(1)->layout().plain());
  EXPECT_EQ(a->input(1)->type(), state.graph.find_value("k")->type());
}

TEST(SelectKernels, ReferenceKernelsNeedNoPacking) {
  const CompileState state = assigned(
      kSharedKernel, {.accept = [](const ir::Node&, const kernels::Candidate&) { return false; }});
  EXPECT_TRUE(packs(state.graph).empty());
  for (const auto& [node, choice] : state.kernels) EXPECT_EQ(choice.candidate, "reference");
}

TEST(SelectKernels, RefusalsAreRecordedInOrder) {
  const CompileState state = assigned(
      kSharedKernel, {.accept = [](const ir::Node&, const kernels::Candidate&) { return false; }});
  const ir::Node* conv = state.graph.find_value("a")->producer();
  const auto& candidates = kernels::candidates("conv");
  ASSERT_GT(candidates.size(), 1u);
  std::vector<std::string> expected;
  for (size_t i = 0; i + 1 < candidates.size(); ++i) {
    if (!kernels::is_for(candidates[i], *conv)) continue;
    expected.push_back(candidates[i].name + ": not accepted by the options");
  }
  EXPECT_EQ(state.kernels.at(conv).refusals, expected);
}

TEST(SelectKernels, AcceptIsAskedPerNode) {
  const CompileState state =
      assigned(kSharedKernel, {.accept = [](const ir::Node& node, const kernels::Candidate&) {
                 return node.name() != "c1";
               }});
  EXPECT_EQ(state.kernels.at(state.graph.find_value("a")->producer()).candidate, "reference");
  EXPECT_NE(state.kernels.at(state.graph.find_value("b")->producer()).candidate, "reference");
}

TEST(SelectKernels, TilesOfWinogradHaveALimit) {
  const char* conv = R"(graph(x: f32[2,32,32,32] feed, k: f32[3,3,32,32] variable) {
    y = conv(x, k) {padding="same"}
    return result y=y })";
  const auto choice_of = [&](WinogradTiles most) {
    const CompileState state = assigned(conv, {.winograd = most});
    return state.kernels.at(state.graph.find_value("y")->producer());
  };
  EXPECT_EQ(choice_of(WinogradTiles::up_to_4).candidate, "winograd4");
  EXPECT_EQ(choice_of(WinogradTiles::up_to_2).candidate, "winograd");
  const KernelChoice none = choice_of(WinogradTiles::off);
  EXPECT_EQ(none.candidate, "direct");
  EXPECT_EQ(
      std::ranges::count_if(none.refusals,
                            [](const std::string& refusal) {
                              return testing_support::says_all(refusal, {"winograd4", "options"});
                            }),
      1);
}

// A gradient that goes to the maximum of a window must not depend on the rounding of equal values.
TEST(SelectKernels, TilesAreSmallBeforeMaxPoolingThatIsTrained) {
  const auto choice_of = [&](const char* gradient) {
    const std::string text = concat(R"(graph(x: f32[2,32,32,32] feed, k: f32[3,3,32,32] variable) {
    y = conv(x, k) {padding="same"}
    r = relu(y)
    p, i = max_pool(r) {window=[2,2]}
    )",
                                    gradient, " }");
    const CompileState state = assigned(text.c_str());
    return state.kernels.at(state.graph.find_value("y")->producer()).candidate;
  };
  EXPECT_EQ(choice_of("return result p=p"), "winograd4");
  EXPECT_EQ(choice_of(R"(d = max_pool_grad(p, i) {window=[2,2], input=[32,32]}
    return result d=d)"),
            "winograd");
}

TEST(SelectKernels, ScratchMemoryHasLimits) {
  const char* gradient = R"(graph(dy: f32[2,8,8,16] feed, x: f32[2,8,8,16] feed) {
    g = conv_filter_grad(x, dy) {padding="same", filter=[3,3]}
    return result g=g })";
  const auto choice_of = [&](std::vector<size_t> limits) {
    const CompileState state = assigned(gradient, {.scratch_limits = std::move(limits)});
    return state.kernels.at(state.graph.find_value("g")->producer());
  };
  const KernelChoice free = choice_of({});
  const size_t wanted = free.kernel->scratch_bytes();
  ASSERT_GT(wanted, 0u);
  EXPECT_EQ(choice_of({wanted}).candidate, free.candidate);
  EXPECT_EQ(choice_of({wanted, 0}).candidate, free.candidate);
  EXPECT_EQ(choice_of({wanted, 0, 0, 0}).candidate, free.candidate);
  for (const std::vector<size_t>& limits :
       {std::vector<size_t>{wanted - 1}, {wanted - 1, wanted}, {0, wanted, wanted, wanted}}) {
    const KernelChoice less = choice_of(limits);
    EXPECT_NE(less.candidate, free.candidate);
    EXPECT_TRUE(less.candidate == "reference" || less.kernel->scratch_bytes() <= limits[0]);
    EXPECT_NE(join(less.refusals, "\n").find("bytes of scratch memory"), std::string::npos);
  }
}

TEST(SelectKernels, ADecisionReplacesTheOrder) {
  const auto choice_of = [&](Decide decide) {
    const CompileState state = assigned(kSharedKernel, {.decide = std::move(decide)});
    EXPECT_NO_THROW(ir::verify(state.graph));
    return state.kernels.at(state.graph.find_value("a")->producer());
  };
  const KernelChoice usual = choice_of(nullptr);
  EXPECT_FALSE(usual.decision);
  std::vector<std::string> keys;
  std::vector<std::string> names;
  choice_of([&](const TunableLayer& layer) -> const KernelDecision* {
    keys.push_back(layer.key);
    EXPECT_NE(layer.table, "");
    for (const KernelOption& option : layer.options()) {
      EXPECT_NE(option.offer.kernel, nullptr);
      if (keys.size() == 1) names.push_back(option.candidate);
    }
    return nullptr;
  });
  const std::string same = "/2x8x8x16/3x3x16x16/";
  EXPECT_EQ(keys, (std::vector<std::string>{"conv" + same + "padding:same",
                                            "conv" + same + "padding:same",
                                            "conv_input_grad" + same + "input:8x8/padding:same"}));
  // The table refuses none of them, or only because another one is faster.
  for (const char* name : {"winograd4", "winograd", "direct"}) {
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
    const KernelDecision decision{.candidate = name, .table = usual.candidate};
    const KernelChoice choice = choice_of([&](const TunableLayer&) { return &decision; });
    EXPECT_EQ(choice.candidate, name);
    ASSERT_TRUE(choice.decision);
    EXPECT_EQ(choice.decision->candidate, name);
  }
  EXPECT_EQ(std::ranges::count(names, "reference"), 0);
}

TEST(SelectKernels, ADecisionThatIsNotPossibleChangesNothing) {
  const KernelDecision decision{.candidate = "nobody", .table = "direct"};
  const CompileState state =
      assigned(kSharedKernel, {.decide = [&](const TunableLayer&) { return &decision; }});
  const CompileState usual = assigned(kSharedKernel);
  const auto& choice = state.kernels.at(state.graph.find_value("a")->producer());
  EXPECT_EQ(choice.candidate, usual.kernels.at(usual.graph.find_value("a")->producer()).candidate);
  EXPECT_NE(join(choice.refusals, "\n").find("nobody: "), std::string::npos);
}

// Where max pooling is trained, tiles stay small whatever was measured elsewhere.
TEST(SelectKernels, ADecisionRespectsLimits) {
  const char* pooled = R"(graph(x: f32[2,32,32,32] feed, k: f32[3,3,32,32] variable) {
    y = conv(x, k) {padding="same"}
    p, i = max_pool(y) {window=[2,2]}
    d = max_pool_grad(p, i) {window=[2,2], input=[32,32]}
    return result d=d })";
  const KernelDecision decision{.candidate = "winograd4", .table = "winograd"};
  std::string key;
  const auto decide = [&](const TunableLayer& layer) {
    key = layer.key;
    for (const KernelOption& option : layer.options()) EXPECT_NE(option.candidate, "winograd4");
    return &decision;
  };
  const CompileState state = assigned(pooled, {.decide = decide});
  EXPECT_EQ(state.kernels.at(state.graph.find_value("y")->producer()).candidate, "winograd");
  EXPECT_NE(key.find("/no-winograd4"), std::string::npos) << key;
  const CompileState limited = assigned(kSharedKernel, {.scratch_limits = {1}, .decide = decide});
  EXPECT_NE(key.find("/scratch:1"), std::string::npos) << key;
}

TEST(SelectKernels, ViewsNeedNoKernel) {
  const CompileState state = assigned(R"(graph(x: f32[2,4] feed) {
    v = reshape(x) {shape=[2,2]}
    y = relu(v)
    return result y=y })");
  EXPECT_EQ(state.kernels.size(), 1u);
}

TEST(SelectKernels, AnOpWithoutKernelsIsAnError) {
  EXPECT_THROW(assigned(R"(graph(x: f32[2,4] feed, k: f32[4] variable) {
    p = pack(k) {layout="mine"}
    return result p=p })"),
               InvalidArgument);
}

}  // namespace
}  // namespace pando::compiler
