#include "pando/train/auto_split.h"

#include <gtest/gtest.h>

#include "tests/train/train_support.h"

namespace pando::train {
namespace {

std::vector<LayerSeconds> chain(const std::vector<double>& seconds) {
  std::vector<LayerSeconds> layers;
  for (const double value : seconds) {
    const std::string name(1, static_cast<char>('a' + layers.size()));
    layers.push_back({name, {value / 3, value * 2 / 3}, !layers.empty()});
  }
  return layers;
}

TEST(AutoSplit, BalancesTimes) {
  const MeasuredSplits two = choose_splits(chain({1, 1, 1, 6, 1, 2}), 2);
  EXPECT_EQ(two.splits, std::vector<std::string>{"d"});
  ASSERT_EQ(two.seconds.size(), 2u);
  EXPECT_DOUBLE_EQ(two.seconds[0].forward, 1);
  EXPECT_DOUBLE_EQ(two.seconds[0].backward, 2);
  EXPECT_DOUBLE_EQ(two.seconds[1].forward, 3);
  EXPECT_DOUBLE_EQ(two.seconds[1].backward, 6);
  EXPECT_EQ(choose_splits(chain({1, 1, 1, 6, 1, 2}), 3).splits,
            (std::vector<std::string>{"d", "e"}));
  EXPECT_TRUE(choose_splits(chain({1, 2}), 1).splits.empty());
}

TEST(AutoSplit, LayersThatCannotStartAStageStayWithTheOneBefore) {
  std::vector<LayerSeconds> layers = chain({4, 0, 4, 2});
  layers[1].can_start_a_stage = false;
  layers[2].can_start_a_stage = false;
  EXPECT_EQ(choose_splits(layers, 2).splits, std::vector<std::string>{"d"});
  try {
    choose_splits(layers, 3);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_SAYS(error.what(), "3 pipeline stages", "2 layers", "(a, d)");
  }
  EXPECT_THROW(choose_splits(layers, 0), InvalidArgument);
}

void add_op(profile::Trace& trace, profile::TraceTrack& track, const char* name, int64_t nanos) {
  track.add({.begin = 0, .end = nanos, .name = trace.name_id(name)});
}

TEST(AutoSplit, AddsUpTheOpsOfEachLayer) {
  const Layer shared = Dense({.units = 4, .name = "shared"});
  const SymbolicTensor input = Input({4});
  SymbolicTensor x = Dense({.units = 4, .name = "first"})(input);
  x = shared(shared(x));
  x = Dense({.units = 4, .name = "first_more"})(x);
  x = Flatten({.name = "view"})(x);
  const Network network(input, x);

  profile::Trace trace({.events_per_track = 16});
  profile::TraceTrack& one = trace.add_track("worker 0", 0);
  profile::TraceTrack& two = trace.add_track("worker 1", 0);
  add_op(trace, one, "dense first", 1000);
  add_op(trace, two, "dense first", 2000);
  add_op(trace, two, "relu first/activation", 500);
  add_op(trace, one, "dense_filter_grad first/grad", 4000);
  add_op(trace, one, "dense shared", 1000);
  add_op(trace, one, "dense first_more", 7000);
  add_op(trace, one, "cross_entropy loss", 100);
  add_op(trace, one, "cross_entropy_grad loss/grad", 200);
  one.add({.begin = 0, .end = 99999, .kind = profile::EventKind::phase});

  const std::vector<LayerSeconds> layers = layer_seconds(network, trace);
  ASSERT_EQ(layers.size(), 4u);
  EXPECT_EQ(layers[0].layer, "first");
  EXPECT_NEAR(layers[0].seconds.forward, 3.5e-6, 1e-15);
  EXPECT_NEAR(layers[0].seconds.backward, 4e-6, 1e-15);
  EXPECT_FALSE(layers[0].can_start_a_stage);  // the first
  EXPECT_FALSE(layers[1].can_start_a_stage);  // called twice
  EXPECT_NEAR(layers[2].seconds.forward, 7e-6, 1e-15);
  EXPECT_TRUE(layers[2].can_start_a_stage);
  EXPECT_NEAR(layers[3].seconds.forward, 1e-7, 1e-15);  // the loss
  EXPECT_NEAR(layers[3].seconds.backward, 2e-7, 1e-15);
}

TEST(AutoSplit, ModelsMeasureWithoutBeingChanged) {
  const Network network =
      Sequential({6, 6, 1}, {Conv2D({.filters = 4, .kernel = {3, 3}}), Flatten(),
                             Dense({.units = 16}), Dense({.units = 3, .activation = "softmax"})});
  Model model(network);
  EXPECT_NE(error_of<InvalidArgument>([&] {
              model.measure_pipeline_splits(2, image_data(8), 4);
            }).find("is not compiled"),
            std::string::npos);
  model.compile(classifier());
  const std::vector<Tensor> before = model.get_weights();
  const MeasuredSplits three = model.measure_pipeline_splits(3, image_data(40), 4);
  EXPECT_EQ(three.splits, (std::vector<std::string>{"dense", "dense_1"}));
  for (const runtime::StageSeconds& stage : three.seconds) {
    EXPECT_GT(stage.forward, 0);
    EXPECT_GT(stage.backward, 0);
  }
  EXPECT_TRUE(same_bits(model.get_weights(), before));
  model.set_pipeline_splits(three.splits);
  EXPECT_EQ(model.measure_pipeline_splits(2, image_data(40), 4).splits.size(), 1u);
  EXPECT_EQ(model.network().stages(), 3);
}

TEST(AutoSplit, ModelsMeasureOnOneDeviceOfTheirStrategy) {
  const DeviceStrategy strategy(
      {.devices = 2, .core_sets = {{0}, {0}}, .memory_per_device = int64_t{1} << 30});
  const DeviceStrategy::Scope scope = strategy.scope();
  Model model = compiled(small_cnn(), classifier());
  EXPECT_EQ(model.measure_pipeline_splits(2, image_data(40), 4).splits,
            std::vector<std::string>{"dense"});
}

}  // namespace
}  // namespace pando::train
