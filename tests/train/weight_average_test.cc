// Moving averages of weights: what they are, who uses them, and that training does not notice.
// SPDX-License-Identifier: MIT
#include "pando/store/weights_file.h"
#include "pando/train/callbacks.h"
#include "tests/support/thread_instances.h"
#include "tests/train/spread.h"

namespace pando {
namespace {

constexpr double kDecay = 0.8;
constexpr int64_t kAveragedSamples = 44;  // 5 whole batches of 8 and half of one

Optimizer momentum_sgd() { return SGD({.learning_rate = 0.1, .momentum = 0.9}); }

Model averaging(double decay = kDecay, const Precision& precision = {}) {
  CompileOptions options =
      classifier(with_average(momentum_sgd(), decay), {.threads = 1, .slices = 2});
  options.precision = precision;
  return compiled(rich_cnn(), options, 3);
}

FitOptions epochs(int64_t count) { return {.epochs = count, .batch_size = 8, .verbose = 0}; }

// The weights that training goes on with.
std::vector<Tensor> trained_weights(const Model& model) {
  std::vector<Tensor> weights;
  for (const store::NamedWeight& entry : model.training_state().weights.state) {
    if (entry.name.starts_with("optimizer/trained/")) weights.push_back(entry.value);
  }
  return weights;
}

// Without the moving statistics, which are not averaged.
std::vector<Tensor> variables_of(const Model& model) {
  std::vector<Tensor> weights;
  for (const std::string& name : model.weight_names()) {
    if (name.find("moving_") == std::string::npos) weights.push_back(model.get_weight(name));
  }
  return weights;
}

TEST(WeightAverage, FollowsTheWeightsOfEveryUpdate) {
  Model model = averaging();
  std::vector<Tensor> by_hand = variables_of(model);
  int64_t updates = 0;
  FitOptions options = epochs(2);
  options.updates_per_execution = [](TrainingPosition) { return 1; };
  options.callbacks = {LambdaCallback({.execution_end = [&](FitContext& context, const Logs&) {
    const std::vector<Tensor> trained = trained_weights(*context.model);
    const std::vector<Tensor> averages = variables_of(*context.model);
    ASSERT_EQ(trained.size(), by_hand.size());
    for (size_t v = 0; v < by_hand.size(); ++v) {
      for (size_t i = 0; i < by_hand[v].f32().size(); ++i) {
        float& average = by_hand[v].f32()[i];
        average = static_cast<float>(kDecay * double{average} +
                                     (1 - kDecay) * double{trained[v].f32()[i]});
        ASSERT_NEAR(averages[v].f32()[i], average, 1e-6);
      }
    }
    ++updates;
  }})};
  model.fit(image_data(kAveragedSamples), options);
  EXPECT_EQ(updates, 12);
  EXPECT_FALSE(same_bits(trained_weights(model), variables_of(model)));
}

TEST(WeightAverage, LeavesTrainingAsItIs) {
  Model plain = compiled(rich_cnn(), classifier(momentum_sgd(), {.threads = 1, .slices = 2}), 3);
  Model model = averaging();
  const History without = plain.fit(image_data(kAveragedSamples), epochs(3));
  FitOptions options = epochs(3);
  options.validation_data = image_data(20, 8);  // the weights come back after every validation
  const History with = model.fit(image_data(kAveragedSamples), options);
  EXPECT_EQ(without["loss"], with["loss"]);
  EXPECT_TRUE(same_bits(trained_weights(model), variables_of(plain)));
  EXPECT_TRUE(same_bits(model.get_weight("batch_normalization/moving_mean"),
                        plain.get_weight("batch_normalization/moving_mean")));
}

TEST(WeightAverage, IsWhatEvaluationAndPredictionUse) {
  Model model = averaging();
  const Dataset test = image_data(20, 8);
  FitOptions options = epochs(2);
  options.validation_data = test;
  options.validation_batch_size = 8;
  const History history = model.fit(image_data(kAveragedSamples), options);
  Model copy = compiled(rich_cnn(), classifier(momentum_sgd(), {.threads = 1, .slices = 2}), 9);
  copy.set_weights(model.get_weights());
  const double loss = value_of(copy.evaluate(test, {.batch_size = 8}), "loss");
  EXPECT_EQ(value_of(model.evaluate(test, {.batch_size = 8}), "loss"), loss);
  EXPECT_EQ(history["val_loss"].back(), loss);
  EXPECT_TRUE(same_bits(model.predict(test), copy.predict(test)));
}

TEST(WeightAverage, ResumesBitForBit) {
  for (const Precision& precision : {Precision{}, Precision{DType::f16, DType::f16}}) {
    const TempFolder folder;
    Model whole = averaging(kDecay, precision);
    whole.fit(image_data(kAveragedSamples), epochs(3));
    Model first = averaging(kDecay, precision);
    first.fit(image_data(kAveragedSamples), epochs(1));
    save_training_state(folder.path("state.h5"), first.training_state());
    Model second = averaging(kDecay, precision);
    second.fit(image_data(kAveragedSamples, 9), epochs(1));  // leaves no trace
    second.restore(load_training_state(folder.path("state.h5")));
    FitOptions rest = epochs(3);
    rest.initial_epoch = 1;
    second.fit(image_data(kAveragedSamples), rest);
    EXPECT_TRUE(same_weights(second, whole));
    EXPECT_TRUE(same_bits(trained_weights(second), trained_weights(whole)));
  }
}

TEST(WeightAverage, StaysInF32BesideHalfWeights) {
  Model model = averaging(kDecay, {DType::f16, DType::f16});
  model.fit(image_data(kAveragedSamples), epochs(1));
  EXPECT_EQ(model.get_weight("dense/kernel").dtype(), DType::f32);
  const std::vector<Tensor> before = trained_weights(model);
  EXPECT_EQ(before[0].dtype(), DType::f16);
  const std::vector<Tensor> averages = model.get_weights();
  model.evaluate(image_data(20, 8));
  EXPECT_TRUE(same_bits(trained_weights(model), before));
  EXPECT_TRUE(same_bits(model.get_weights(), averages));
}

TEST(WeightAverage, FilesHoldItAndSaySo) {
  const TempFolder folder;
  Model model = averaging();
  model.fit(image_data(kAveragedSamples), epochs(1));
  model.save_weights(folder.path("weights.h5"));
  save_training_state(folder.path("state.h5"), model.training_state());
  for (const char* file : {"weights.h5", "state.h5"}) {
    Model plain = compiled(rich_cnn(), classifier(), 9);
    EXPECT_EQ(plain.load_weights(folder.path(file)).average_decay, "0.8") << file;
    EXPECT_TRUE(same_weights(plain, model)) << file;
  }
  Model other = compiled(rich_cnn(), classifier(), 9);
  other.save_weights(folder.path("plain.h5"));
  EXPECT_EQ(model.load_weights(folder.path("plain.h5")).average_decay, "");
}

TEST(WeightAverage, BeginsAnewWithGivenWeights) {
  Model model = averaging();
  model.fit(image_data(kAveragedSamples), epochs(1));
  const std::vector<Tensor> given = compiled(rich_cnn(), classifier(), 7).get_weights();
  model.set_weights(given);
  EXPECT_TRUE(same_bits(model.get_weights(), given));
  EXPECT_TRUE(same_bits(trained_weights(model), variables_of(model)));
}

// A run without an average may go on with one: it begins with the weights of the state.
TEST(WeightAverage, BeginsWithAStateThatHasNone) {
  Model plain = compiled(rich_cnn(), classifier(momentum_sgd(), {.threads = 1, .slices = 2}), 3);
  plain.fit(image_data(kAveragedSamples), epochs(1));
  Model model = averaging();
  model.restore(plain.training_state());
  EXPECT_TRUE(same_weights(model, plain));
  EXPECT_TRUE(same_bits(trained_weights(model), variables_of(plain)));
}

TEST(WeightAverage, BecomesTheWeightsWithANewOptimizer) {
  Model model = averaging();
  model.fit(image_data(kAveragedSamples), epochs(1));
  const std::vector<Tensor> averages = model.get_weights();
  model.compile(classifier());
  EXPECT_TRUE(same_bits(model.get_weights(), averages));
}

TEST(WeightAverage, IsTheSameOnReplicasPipelinesAndInstances) {
  const Spread one{.slices = 2, .ema_decay = 0.7};
  const Model expected = trained(rich_cnn(), one);
  Spread pipeline = one;
  pipeline.devices = 2;
  pipeline.splits = {"max_pooling2d"};
  EXPECT_TRUE(same_weights(trained(rich_cnn(), pipeline), expected));
  Spread replicas{.devices = 2, .accumulation = 4, .ema_decay = 0.7};
  const Model both = trained(plain_cnn(), replicas);
  const Spread whole{.micro_batch = 16, .accumulation = 1, .ema_decay = 0.7};
  EXPECT_LT(largest_difference(trained(plain_cnn(), whole), both), 2e-6);
  replicas.devices = 1;
  testing_support::on_instances(2, [&](comm::Communicator&) {
    EXPECT_TRUE(same_weights(trained(plain_cnn(), replicas), both));
  });
}

TEST(WeightAverage, IsCountedBeforeItIsTaken) {
  const auto slots = [](Model model) {
    int64_t bytes = 0;
    const RunMemory memory = model.memory_of({.batch_size = 8, .fields = image_data(8).fields()});
    for (const MemoryItem& item : memory.items) {
      if (item.what.ends_with("optimizer slots")) bytes += item.bytes;
    }
    return bytes;
  };
  const int64_t with_momentum = slots(averaging(0));
  EXPECT_GT(with_momentum, 0);
  EXPECT_EQ(slots(averaging()), 2 * with_momentum);
  const int64_t half = slots(averaging(0, {DType::f16, DType::f16}));
  EXPECT_EQ(slots(averaging(kDecay, {DType::f16, DType::f16})), half + with_momentum);
}

TEST(WeightAverage, RefusesWrongDecays) {
  EXPECT_SAYS(error_of([] { with_average(SGD(), 1); }), "sgd", "decay", "below 1", "got 1");
  EXPECT_SAYS(error_of([] { with_average(SGD(), -0.1); }), "got -0.1");
  EXPECT_SAYS(error_of([] { with_average(with_average(Adam(), 0.9), 0.5); }), "adam",
              "without an average", "0.9");
  const Optimizer plain = SGD();
  EXPECT_EQ(with_average(plain, 0).rule, plain.rule);
}

}  // namespace
}  // namespace pando
