#include "pando/compiler/kernel_choices.h"

#include "tests/compiler/pass_testing.h"
#include "tests/support/expect_error.h"

namespace pando::compiler {
namespace {

TEST(KernelChoices, AreTextAndBack) {
  const KernelChoices choices = {{"conv/2x8x8x3/padding:same", "direct"}, {"dense/1x2", "onednn"}};
  const std::vector<std::string> texts = to_texts(choices);
  EXPECT_EQ(texts,
            (std::vector<std::string>{"conv/2x8x8x3/padding:same=direct", "dense/1x2=onednn"}));
  EXPECT_EQ(parse_kernel_choices(texts), choices);
  EXPECT_TRUE(parse_kernel_choices({}).empty());
  for (const char* wrong : {"", "direct", "=direct", "conv="}) {
    EXPECT_SAYS(testing_support::error_of([&] { parse_kernel_choices({wrong}); }), "LAYER=KERNEL");
  }
}

TEST(KernelChoices, KeysHaveWhatDecidesTheTime) {
  const CompileState state = typed_state(R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable) {
    a = conv(x, k) {padding="same", strides=[2,2]} @c1
    return result a=a })");
  const ir::Node& node = *state.graph.nodes()[0];
  EXPECT_EQ(layer_key(node, ""), "conv/2x8x8x3/3x3x3x4/padding:same/strides:2x2");
  EXPECT_EQ(layer_key(node, "in-parts"), "conv/2x8x8x3/3x3x3x4/padding:same/strides:2x2/in-parts");
}

TEST(KernelChoices, DecideByThem) {
  EXPECT_EQ(decide_by({}), nullptr);
  const CompileState state = typed_state("graph(x: f32[2] feed) { a = relu(x) return result a=a }");
  const Decide decide = decide_by({{"mine", "direct"}});
  TunableLayer layer{
      .node = *state.graph.nodes()[0], .key = "mine", .table = "fast", .options = {}};
  ASSERT_NE(decide(layer), nullptr);
  EXPECT_EQ(decide(layer)->candidate, "direct");
  EXPECT_EQ(decide(layer)->table, "fast");
  layer.key = "yours";
  EXPECT_EQ(decide(layer), nullptr);
}

TEST(Tuning, HasNames) {
  EXPECT_EQ(to_string(Tuning::off), "off");
  EXPECT_EQ(to_string(Tuning::quick), "quick");
  EXPECT_EQ(to_string(Tuning::full), "full");
}

}  // namespace
}  // namespace pando::compiler
