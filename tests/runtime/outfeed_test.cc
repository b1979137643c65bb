#include "pando/runtime/outfeed.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "pando/ir/text.h"

namespace pando::runtime {
namespace {

// A program with a loss, a metric and a result per sample, in two slices of two samples.
struct PerSample {
  PerSample()
      : program(compiler::compile(ir::parse_graph(R"(graph(x: f32[2] feed) {
            loss = relu(x)
            right = relu(loss)
            y = relu(right)
            return loss loss=loss, metric right=right, result y=y })"),
                                  {.slices = 2})),
        team({.device_workers = {1}}),
        bound(*program, variables, team),
        outfeed(bound) {}

  void set(std::string_view name, int lane, const std::vector<float>& values) {
    const compiler::Operand operand = program->operand(program->graph().find_value(name));
    std::copy(values.begin(), values.end(), reinterpret_cast<float*>(bound.address(operand, lane)));
  }

  std::unique_ptr<const compiler::Program> program;
  VariableStore variables;
  WorkerTeam team;
  BoundProgram bound;
  Outfeed outfeed;
};

TEST(Outfeed, SumsRealSamples) {
  PerSample values;
  EXPECT_EQ(values.outfeed.metric_widths(), std::vector<size_t>{1});
  values.outfeed.begin(0, {});
  // Lanes of one worker take turns in one block of memory.
  values.set("loss", 0, {1, 2});
  values.set("right", 0, {10, 20});
  values.outfeed.add({.lane = 0, .samples = 2});
  values.set("loss", 1, {4, 1000});
  values.set("right", 1, {40, 1000});
  values.outfeed.add({.lane = 1, .samples = 1});
  const std::vector<Totals> replicas = values.outfeed.replica_totals();
  ASSERT_EQ(replicas.size(), 1u);
  EXPECT_EQ(replicas[0].samples, 3);
  EXPECT_EQ(replicas[0].loss, 7);
  ASSERT_EQ(replicas[0].metrics.size(), 1u);
  EXPECT_EQ(replicas[0].metrics[0], 70);
  EXPECT_FALSE(values.outfeed.not_finite());
  values.outfeed.begin(0, {});
  EXPECT_EQ(values.outfeed.replica_totals()[0].samples, 0);
}

TEST(Outfeed, KeepsTheLastSteps) {
  PerSample values;
  values.outfeed.begin(2, {});
  for (int step = 0; step < 3; ++step) {
    for (const int lane : {0, 1}) {
      const auto number = static_cast<float>(10 * step + lane);
      values.set("loss", lane, {number, number});
      values.set("right", lane, {1, 1});
      values.outfeed.add({.lane = lane, .step = step, .samples = 2});
    }
  }
  for (const int step : {1, 2}) {
    const Totals totals = values.outfeed.step_values(step, 0);
    EXPECT_EQ(totals.samples, 4);
    EXPECT_EQ(totals.loss, 40 * step + 2);
    ASSERT_EQ(totals.metrics.size(), 1u);
    EXPECT_EQ(totals.metrics[0], 4);
  }
}

TEST(Outfeed, HandsOutRealRows) {
  PerSample values;
  std::vector<float> rows(6, -1);
  values.outfeed.begin(0, {reinterpret_cast<std::byte*>(rows.data())});
  values.set("y", 0, {1, 2});
  values.outfeed.add({.lane = 0, .samples = 2, .first_row = 1});
  values.set("y", 1, {3, 4});
  values.outfeed.add({.lane = 1, .samples = 1, .first_row = 3});
  values.outfeed.add({.lane = 1, .samples = 0, .first_row = 100});
  EXPECT_EQ(rows, (std::vector<float>{-1, 1, 2, 3, -1, -1}));
}

TEST(Outfeed, SeesALossThatIsNoNumber) {
  PerSample values;
  values.outfeed.begin(0, {});
  values.set("loss", 0, {1, std::numeric_limits<float>::quiet_NaN()});
  values.outfeed.add({.lane = 0, .samples = 1});  // the second sample is padding
  EXPECT_FALSE(values.outfeed.not_finite());
  values.outfeed.add({.lane = 0, .samples = 2});
  EXPECT_TRUE(values.outfeed.not_finite());
}

}  // namespace
}  // namespace pando::runtime
