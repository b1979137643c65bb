// A short test of the equality of pipelines, also run with the thread sanitizer.
#include "tests/runtime/pipeline_equality.h"

namespace pando::runtime {
namespace {

const std::vector<Way> kWays = {
    {.schedule = PipelineSchedule::interleaved,
     .recomputation = compiler::Recomputation::then_backward,
     .workers = 2},
    {.schedule = PipelineSchedule::sequential,
     .recomputation = compiler::Recomputation::interleaved,
     .mapping = {1, 0}},
    {.mapping = {0, 0}, .workers = 2},
};

TEST(PipelineShort, SlicesThatDoNotWait) {
  expect_same_bits({.network = test_network("mnist_cnn", {10, 10, 1}),
                    .splits = {"max_pooling2d"},
                    .slices = 2,
                    .micro_batches = 3,
                    .replicas = 2},
                   kWays);
}

TEST(PipelineShort, SlicesThatWaitForEachOther) {
  expect_same_bits({.network = test_network("toy_model_bn", {32, 32, 3}),
                    .splits = {"conv2d_1"},
                    .slices = 2,
                    .micro_batches = 3},
                   kWays);
}

TEST(PipelineShort, Parts) {
  expect_same_bits({.network = test_network("mnist_cnn", {10, 10, 1}),
                    .splits = {"max_pooling2d"},
                    .batch = 1,
                    .slices = 2,
                    .micro_batches = 3},
                   kWays);
}

TEST(PipelineShort, Evaluation) {
  PipelineCase test{.network = test_network("mnist_cnn", {10, 10, 1}),
                    .splits = {"max_pooling2d", "dense"},
                    .slices = 2};
  Samples samples(training_fields(test.network), test.samples(), 10);
  const auto loss = [&](const Way& way) {
    Trainee trainee(staged(test), options_of(test, way, RunMode::evaluate));
    InfeedQueue infeed(samples.feed(test.batch).source, 2);
    return trainee.run(plans_of(test.samples(), test.batch, 1000), infeed).all.loss;
  };
  const double expected = loss({});
  EXPECT_EQ(loss({.schedule = PipelineSchedule::sequential, .workers = 2}), expected);
  EXPECT_EQ(loss({.mapping = {0, 1, 0}, .workers = 2}), expected);
}

}  // namespace
}  // namespace pando::runtime
