#include <map>

#include <gtest/gtest.h>

#include "tests/compiler/pass_testing.h"

namespace pando::compiler {
namespace {

// The graph after the pass, with the type of every value.
std::string lowered(std::string_view text, const Precision& precision,
                    const HalfOptions& half = {}) {
  CompileState state = typed_state(text);
  state.options.precision = precision;
  state.options.half = half;
  EXPECT_TRUE(LowerPrecision().run(state));
  EXPECT_NO_THROW(ir::verify(state.graph));
  std::string lines;
  for (const ir::Value* value : state.graph.inputs()) {
    lines += value->name() + " " + to_string(value->type()) + "\n";
  }
  for (const auto& node : state.graph.nodes()) {
    lines += node->op() + "(";
    for (const ir::Value* value : node->inputs()) {
      lines += std::string(to_string(value->type().dtype)) + " ";
    }
    lines += ")";
    for (const ir::Value* value : node->outputs()) {
      lines += " " + std::string(to_string(value->type().dtype));
    }
    for (const auto& [key, value] : node->attributes().values()) {
      if (key.starts_with("half") || key == "dtype") lines += " " + key + "=" + ir::to_text(value);
    }
    lines += "\n";
  }
  for (const ir::Output& output : state.graph.outputs()) {
    lines += std::string(to_string(output.role)) + " " + output.name + " " +
             to_string(output.value->type()) + "\n";
  }
  return lines;
}

constexpr Precision k16_16 = {DType::f16, DType::f16};
constexpr Precision k16_32 = {DType::f16, DType::f32};

constexpr std::string_view kDense = R"(graph(x: f32[4,3] feed, k: f32[3,2] variable) {
    y = dense(x, k)
    return result y=y })";

TEST(LowerPrecision, FullPrecisionStaysAsItIs) {
  CompileState state = typed_state(kDense);
  EXPECT_FALSE(LowerPrecision().run(state));
}

TEST(LowerPrecision, FeedsAndResultsAreCast) {
  EXPECT_EQ(lowered(kDense, k16_16),
            "x f32[4,3]\nk f16[3,2]\n"
            "cast(f32 ) f16 dtype=\"f16\"\n"
            "dense(f16 f16 ) f16\n"
            "cast(f16 ) f32 dtype=\"f32\"\n"
            "result y f32[4,2]\n");
}

TEST(LowerPrecision, WeightsThatStayAreReadRounded) {
  EXPECT_EQ(lowered(kDense, {DType::bf16, DType::f32}),
            "x f32[4,3]\nk f32[3,2]\n"
            "cast(f32 ) bf16 dtype=\"bf16\"\n"
            "round_variable(f32 ) bf16 dtype=\"bf16\"\n"
            "dense(bf16 bf16 ) bf16\n"
            "cast(bf16 ) f32 dtype=\"f32\"\n"
            "result y f32[4,2]\n");
}

TEST(LowerPrecision, StatisticsAndLossesAreExact) {
  const std::string text =
      lowered(R"(graph(x: f32[4,3] feed, y: i32[4] feed, g: f32[3] variable, b: f32[3] variable) {
    m = batch_moments(x)
    mean, var, unbiased = combine_moments(m)
    n = batch_norm(x, mean, var, g, b) {batch_statistics=1}
    l = cross_entropy(n, y) {from_logits=1}
    return loss loss=l })",
              k16_16);
  EXPECT_NE(text.find("batch_moments(f16 ) f32"), std::string::npos) << text;
  EXPECT_NE(text.find("combine_moments(f32 ) f32 f32 f32"), std::string::npos) << text;
  EXPECT_NE(text.find("batch_norm(f16 f32 f32 f16 f16 ) f16"), std::string::npos) << text;
  EXPECT_NE(text.find("cross_entropy(f16 i32 ) f32"), std::string::npos) << text;
  EXPECT_EQ(text.find("cast(f16"), std::string::npos) << text;
}

TEST(LowerPrecision, GradientsHaveTheTypeOfTheWeights) {
  constexpr std::string_view kGrad =
      R"(graph(x: f32[4,3] feed, dy: f32[4,2] feed, k: f32[3,2] variable) {
    dk = dense_filter_grad(x, dy)
    y = dense(x, k)
    return gradient k=dk, result y=y })";
  const std::string half = lowered(kGrad, k16_16);
  EXPECT_NE(half.find("gradient k f16[3,2]"), std::string::npos) << half;
  const std::string mixed = lowered(kGrad, k16_32);
  EXPECT_NE(mixed.find("gradient k f32[3,2]"), std::string::npos) << mixed;
  // The cast comes right after the node that makes the gradient.
  EXPECT_NE(mixed.find("dense_filter_grad(f16 f16 ) f16\ncast(f16 ) f32"), std::string::npos)
      << mixed;
}

TEST(LowerPrecision, NodesTellHowTheyRound) {
  const std::string on = lowered(
      kDense, k16_32, {.stochastic_rounding = StochasticRounding::on, .nan_on_overflow = true});
  EXPECT_EQ(on,
            "x f32[4,3]\nk f32[3,2]\n"
            "cast(f32 ) f16 dtype=\"f16\" half_overflow=\"nan\" half_rounding=\"stochastic\" "
            "half_stream=1\n"
            "round_variable(f32 ) f16 dtype=\"f16\" half_overflow=\"nan\" "
            "half_rounding=\"stochastic\" half_stream=2\n"
            "dense(f16 f16 ) f16 half_overflow=\"nan\" half_rounding=\"stochastic\" "
            "half_stream=3\n"
            "cast(f16 ) f32 dtype=\"f32\"\n"
            "result y f32[4,2]\n");
  const std::string identical =
      lowered(kDense, k16_32, {.stochastic_rounding = StochasticRounding::replica_identical_only});
  EXPECT_NE(identical.find("round_variable(f32 ) f16 dtype=\"f16\" half_rounding"),
            std::string::npos)
      << identical;
  EXPECT_NE(identical.find("dense(f16 f16 ) f16\n"), std::string::npos) << identical;
  const std::string partials = lowered(kDense, k16_16, {.half_partials = true});
  EXPECT_NE(partials.find("dense(f16 f16 ) f16 half_partials=1"), std::string::npos) << partials;
}

// A value that two stages convert gets the same noise in both, and the nodes after it get the same
// noise as without stages.
TEST(LowerPrecision, StagesDoNotChangeTheNoise) {
  CompileState one = typed_state(R"(graph(x: f32[4,3] feed, k: f32[3,3] variable) {
    y = dense(x, k)
    z = add(y, x)
    w = relu(z)
    return result w=w })");
  one.options.precision = k16_16;
  one.options.half.stochastic_rounding = StochasticRounding::on;
  CompileState two = typed_state(ir::to_text(one.graph));
  two.options = one.options;
  two.graph.nodes()[1]->set_stage(1);
  two.graph.nodes()[2]->set_stage(1);
  const auto streams = [](CompileState& state) {
    EXPECT_TRUE(LowerPrecision().run(state));
    std::map<std::string, int64_t> of;
    for (const auto& node : state.graph.nodes()) {
      const auto [at, added] = of.emplace(node->op(), node->attributes().get_int("half_stream"));
      if (node->output()->type().dtype == DType::f16) {
        EXPECT_EQ(at->second, node->attributes().get_int("half_stream")) << node->op();
      }
    }
    return of;
  };
  EXPECT_EQ(streams(one), streams(two));
  EXPECT_EQ(two.graph.nodes().size(), one.graph.nodes().size() + 1);
}

TEST(LowerPrecision, BytesBecomeHalves) {
  const std::string text = lowered(R"(graph(x: u8[4,3] feed, k: f32[3,2] variable) {
    h = cast(x) {dtype="f32"}
    y = dense(h, k)
    return result y=y })",
                                   k16_16);
  EXPECT_NE(text.find("cast(u8 ) f16 dtype=\"f16\"\ndense(f16 f16 ) f16"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace pando::compiler
