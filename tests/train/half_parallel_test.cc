// However a model is spread over devices and instances, it learns the same in half precision: the
// same bits wherever f32 gives the same bits, with stochastic rounding too, and otherwise the same
// except for rounding.
// SPDX-License-Identifier: MIT
#include <mutex>
#include <tuple>

#include "tests/support/thread_instances.h"
#include "tests/train/spread.h"

namespace pando {
namespace {

class HalfParallel : public testing::TestWithParam<std::tuple<const char*, StochasticRounding>> {
 protected:
  Model learned(const Network& network, Spread how) const {
    how.precision = parse_precision(std::get<0>(GetParam()));
    how.half = {.stochastic_rounding = std::get<1>(GetParam())};
    return trained(network, how);
  }
  Model learned_on(int instances, const Network& network, const Spread& how) const {
    std::mutex mutex;
    std::vector<Model> models;
    testing_support::on_instances(instances, [&](comm::Communicator&) {
      const Model model = learned(network, how);
      const std::lock_guard lock(mutex);
      models.push_back(model);
    });
    for (const Model& model : models) EXPECT_TRUE(same_weights(model, models[0]));
    return models[0];
  }
  // The tolerance for weights of the order of 1 after six updates.
  double close() const { return std::string(std::get<0>(GetParam())) == "bf16.16" ? 0.05 : 0.01; }
};

TEST_P(HalfParallel, AnyDivisionOfAGlobalBatchGivesNearlyTheSameUpdate) {
  const Model expected = learned(plain_cnn(), {.micro_batch = 16, .accumulation = 1});
  // A relu that rounding closes makes a difference of its own.
  EXPECT_LT(
      largest_difference(expected, trained(plain_cnn(), {.micro_batch = 16, .accumulation = 1})),
      5 * close());
  for (const Spread& how :
       {Spread{}, Spread{.devices = 2, .accumulation = 4}, Spread{.devices = 8, .accumulation = 1},
        Spread{.devices = 2, .micro_batch = 8, .accumulation = 1, .slices = 2},
        Spread{.devices = 4, .accumulation = 4, .splits = {"join"}},
        Spread{.accumulation = 8, .reduction = GradientReduction::running_mean}}) {
    EXPECT_LT(largest_difference(learned(plain_cnn(), how), expected), close())
        << how.devices << " devices, " << how.accumulation << " micro-batches";
  }
}

TEST_P(HalfParallel, SchedulesAndRecomputationGiveTheSameBits) {
  struct Case {
    Network network;
    std::vector<std::string> splits;
    int slices;
  };
  for (const Case& test : {Case{plain_cnn(), {"join"}, 1}, Case{plain_cnn(), {"second", "pool"}, 2},
                           Case{rich_cnn(), {"batch_normalization", "dropout"}, 2}}) {
    Spread how{.devices = static_cast<int>(test.splits.size()) + 1,
               .splits = test.splits,
               .slices = test.slices};
    const Model expected = learned(test.network, how);
    for (const PipelineSchedule schedule :
         {PipelineSchedule::grouped, PipelineSchedule::interleaved, PipelineSchedule::sequential}) {
      for (const Recomputation recomputation :
           {Recomputation::none, Recomputation::then_backward, Recomputation::interleaved}) {
        how.schedule = schedule;
        how.recomputation = recomputation;
        EXPECT_TRUE(same_weights(learned(test.network, how), expected))
            << to_string(schedule) << ", recomputation " << static_cast<int>(recomputation);
      }
    }
  }
}

// Stages are where they were without a pipeline.
TEST_P(HalfParallel, PipelinesGiveTheBitsOfOneDevice) {
  EXPECT_TRUE(same_weights(learned(plain_cnn(), {.devices = 2, .splits = {"join"}}),
                           learned(plain_cnn(), {})));
  EXPECT_TRUE(same_weights(learned(rich_cnn(), {.devices = 2, .splits = {"max_pooling2d"}}),
                           learned(rich_cnn(), {})));
}

TEST_P(HalfParallel, TheLengthOfAnExecutionDoesNotMatter) {
  const Model expected = learned(plain_cnn(), {.devices = 2, .accumulation = 4});
  for (const int64_t steps : {1, 5}) {
    EXPECT_TRUE(same_weights(
        learned(plain_cnn(), {.devices = 2, .accumulation = 4, .steps_per_execution = steps}),
        expected))
        << steps;
  }
}

TEST_P(HalfParallel, StatisticsOfAGroupOfReplicas) {
  const Model expected = learned(rich_cnn(), {.micro_batch = 4, .accumulation = 4});
  const Model together = learned(
      rich_cnn(),
      {.devices = 2, .micro_batch = 2, .accumulation = 4, .replication = {.statistics_group = 2}});
  EXPECT_LT(largest_difference(together, expected), 3 * close());
}

TEST_P(HalfParallel, InstancesAreAsReplicas) {
  for (const Network& network : {plain_cnn(), rich_cnn()}) {
    EXPECT_TRUE(same_weights(learned_on(2, network, {.accumulation = 4}),
                             learned(network, {.devices = 2, .accumulation = 4})));
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, HalfParallel,
                         testing::Values(std::tuple("16.16", StochasticRounding::off),
                                         std::tuple("16.16", StochasticRounding::on),
                                         std::tuple("16.32", StochasticRounding::on),
                                         std::tuple("bf16.16", StochasticRounding::on)),
                         [](const auto& test) {
                           std::string name = std::get<0>(test.param);
                           name[name.find('.')] = '_';
                           return name + (std::get<1>(test.param) == StochasticRounding::off
                                              ? "Nearest"
                                              : "Stochastic");
                         });

}  // namespace
}  // namespace pando
