// Tests of networks that an estimator cuts into shards.
#include "pando/nn/pipeline_stage.h"
#include "tests/estimator/pipeline_support.h"

namespace pando::estimator_tests {
namespace {

// The weights that an Estimator of a network in one piece learns.
Weights learnt_whole(const DeviceRunConfig& device) {
  const TempFolder folder;
  Estimator estimator(in_one_piece, options_with(device, folder.path()));
  estimator.train(endless(22), {.steps = 8});
  return weights_of(estimator);
}

TEST(Autosharding, LearnsWhatOneDeviceLearns) {
  const Weights expected = learnt_whole(device_with(1, 1));
  for (const int shards : {2, 5}) {
    DeviceRunConfig device = device_with(1, shards);
    device.autosharding = true;
    EXPECT_LT(largest_difference(learnt_whole(device), expected), kRounding) << shards;
  }
}

// Two layers with a MiB of gradients each.
EstimatorSpec large_network(const ModelInput& input) {
  EstimatorSpec spec = in_one_piece(input);
  SymbolicTensor x = Dense({.units = 512, .name = "wide"})(Flatten()(input.features));
  x = Dense({.units = 512, .name = "wide_2"})(x);
  x = Dense({.units = 512, .name = "wide_3"})(x);
  spec.output = classes()(x);
  return spec;
}

TEST(Autosharding, TrainsWhatOneDeviceHasNoRoomFor) {
  const auto device_of = [](int shards) {
    DeviceRunConfig device = device_with(1, shards);
    device.autosharding = true;
    device.devices[0].cores_per_device = 1;
    device.devices[0].memory_per_device = 3 << 19;
    return device;
  };
  const TempFolder folder;
  Estimator whole(large_network, options_with(device_of(1), folder.path()));
  EXPECT_SAYS(error_of<ResourceError>([&] { whole.train(endless(), {.steps = 4}); }), "1.5 MiB");
  Estimator sharded(large_network, options_with(device_of(2), folder.path()));
  sharded.train(endless(), {.steps = 4});
  EXPECT_EQ(sharded.evaluate(finite(9)).at("global_step"), 4);
  PredictionStream rows = sharded.predict(finite(9));
  int count = 0;
  while (rows.next()) ++count;
  EXPECT_EQ(count, 9);
}

TEST(Autosharding, ErrorsNameTheRule) {
  const TempFolder folder;
  DeviceRunConfig device = device_with(1, 6);
  device.autosharding = true;
  Estimator too_many(in_one_piece, options_with(device, folder.path()));
  EXPECT_SAYS(error_of([&] { too_many.train(endless(), {.steps = 4}); }),
              "at most 5 (cuts before pool, flat, hidden, classes)");

  device = device_with(1, 2);
  device.autosharding = true;
  const ModelFn staged = [](const ModelInput& input) {
    EstimatorSpec spec = in_one_piece(input);
    SymbolicTensor x = input.features;
    {
      const PipelineStage stage(0);
      x = Flatten({.name = "flat"})(x);
    }
    const PipelineStage stage(1);
    spec.output = classes()(x);
    return spec;
  };
  Estimator both(staged, options_with(device, folder.path()));
  EXPECT_SAYS(error_of([&] { both.train(endless(), {.steps = 4}); }),
              "autosharding: the network already has stages");
  PipelineEstimator pipeline(stages_with(), options_with(device, folder.path()));
  EXPECT_SAYS(error_of([&] { pipeline.train(endless(), {.steps = 4}); }),
              "autosharding: the network already has stages");
}

}  // namespace
}  // namespace pando::estimator_tests
