#include "pando/runtime/feeder.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/ir/text.h"

namespace pando::runtime {
namespace {

using Floats = std::vector<float>;

// Two replicas of a program with slices of two samples, fed with full micro-batches of two whose
// samples have the numbers 0, 1, ..; the last one has `last` samples.
struct Fed {
  explicit Fed(int64_t elements = 100, int64_t last = 2)
      : program(compiler::compile(
            ir::parse_graph("graph(x: f32[2] feed) { y = relu(x) return result y=y }"))),
        team({.device_workers = {1, 1}}),
        bound(*program, variables, team, {.replicas = 2}),
        infeed(
            [this, elements, last](Batch& batch) {
              if (next == elements) return false;
              const auto first = static_cast<float>(2 * next);
              batch.fields = {Tensor::of_f32({2}, {first, first + 1})};
              batch.first_sample = 2 * next++;
              batch.valid = next == elements ? last : 2;
              return true;
            },
            2),
        feeder(bound, 0, failed) {}

  void begin(size_t most_steps) {
    feeder.begin(infeed, UpdateDivision(bound.placement(), 2), most_steps, nullptr);
  }
  // The values in a replica's arena after its turn; its lane has the same number.
  Floats turn(int replica, int micro_batch, const UpdatePlan& update, int32_t steps_before = 0,
              int64_t fed_before = 0) {
    const FeedTurn turn{.replica = replica,
                        .micro_batch = micro_batch,
                        .update = &update,
                        .steps_before = steps_before,
                        .fed_before = fed_before};
    EXPECT_TRUE(feeder.publish(turn, 1, trace));
    EXPECT_TRUE(feeder.await(turn, trace));
    feeder.copy(replica, micro_batch);
    feeder.copied(replica);
    const compiler::Operand x = program->operand(program->graph().find_value("x"));
    const auto* at = reinterpret_cast<const float*>(bound.address(x, replica, micro_batch));
    return {at, at + 2};
  }

  std::unique_ptr<const compiler::Program> program;
  VariableStore variables;
  WorkerTeam team;
  BoundProgram bound;
  int64_t next = 0;
  InfeedQueue infeed;
  std::atomic<bool> failed{false};
  Feeder feeder;
  WorkerTrace trace;
};

TEST(Feeder, ReplicasTakeTheirElementsInTurn) {
  Fed fed;
  fed.begin(2);
  const UpdatePlan update{.elements = 4, .samples = 8};
  EXPECT_EQ(fed.turn(0, 0, update), (Floats{0, 1}));
  EXPECT_EQ(fed.turn(1, 0, update), (Floats{2, 3}));
  EXPECT_EQ(fed.turn(1, 1, update), (Floats{6, 7}));
  EXPECT_EQ(fed.turn(0, 1, update), (Floats{4, 5}));
  EXPECT_EQ(fed.feeder.fed(1, 1).first_sample, 6);
  EXPECT_EQ(fed.feeder.fed(1, 1).valid, 2);
  // The next update of the execution.
  EXPECT_EQ(fed.turn(0, 0, update, 2, 4), (Floats{8, 9}));
  fed.feeder.end();
}

TEST(Feeder, TheNextExecutionGoesOnWhereTheInfeedStands) {
  Fed fed;
  const UpdatePlan update{.elements = 2, .samples = 4};
  fed.begin(1);
  fed.turn(0, 0, update);
  fed.turn(1, 0, update);
  fed.feeder.end();
  fed.begin(1);
  EXPECT_EQ(fed.turn(0, 0, update), (Floats{4, 5}));
  fed.feeder.end();
}

TEST(Feeder, PadsWhatIsMissing) {
  Fed fed(3, 1);
  fed.begin(2);
  const UpdatePlan update{.elements = 3, .samples = 5};
  fed.turn(0, 0, update);
  fed.turn(1, 0, update);
  EXPECT_EQ(fed.turn(0, 1, update), (Floats{4, 4}));  // one of two samples is real
  EXPECT_EQ(fed.feeder.fed(0, 1).valid, 1);
  EXPECT_EQ(fed.turn(1, 1, update), (Floats{0, 0}));
  EXPECT_EQ(fed.feeder.fed(1, 1).valid, 0);
  fed.feeder.end();
}

TEST(Feeder, AnElementOfAnotherSizeThanPlannedIsAnError) {
  Fed fed(1, 1);
  fed.begin(1);
  const UpdatePlan update{.elements = 1, .samples = 2};
  const FeedTurn turn{.update = &update};
  EXPECT_THROW(fed.feeder.publish(turn, 1, fed.trace), InternalError);
  fed.feeder.end();
}

// No worker has copied the first micro-batch, so the second one would wait.
TEST(Feeder, AFailureEndsAllWaits) {
  Fed fed;
  fed.begin(2);
  const UpdatePlan update{.elements = 4, .samples = 8};
  FeedTurn turn{.update = &update};
  EXPECT_TRUE(fed.feeder.publish(turn, 1, fed.trace));
  fed.failed = true;
  fed.feeder.wake();
  turn.micro_batch = 1;
  EXPECT_FALSE(fed.feeder.publish(turn, 1, fed.trace));
  EXPECT_FALSE(fed.feeder.await(turn, fed.trace));
  fed.feeder.end();
}

TEST(Feeder, AClosedInfeedEndsTheTurn) {
  Fed fed;
  fed.begin(1);
  fed.infeed.close();
  const UpdatePlan update{.elements = 2, .samples = 4};
  const FeedTurn turn{.update = &update};
  EXPECT_FALSE(fed.feeder.publish(turn, 1, fed.trace));
  fed.feeder.end();
}

}  // namespace
}  // namespace pando::runtime
