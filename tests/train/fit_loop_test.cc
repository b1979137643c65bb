// fit, evaluate and predict: what they compute.
#include "pando/train/fit_loop.h"

#include <algorithm>
#include <cmath>

#include "tests/train/train_support.h"

namespace pando {
namespace {

struct Named {
  std::string name;
  Optimizer optimizer;
};

class Learns : public testing::TestWithParam<Named> {};

TEST_P(Learns, LossFallsAndAccuracyRises) {
  Model model = compiled(small_cnn(), classifier(GetParam().optimizer));
  const History history = model.fit(image_data(96), {.epochs = 8, .batch_size = 16, .verbose = 0});
  EXPECT_LT(history["loss"].back(), history["loss"].front() * 0.7);
  EXPECT_GT(history["accuracy"].back(), 0.7);
}

INSTANTIATE_TEST_SUITE_P(
    All, Learns,
    testing::Values(Named{"sgd", SGD({.learning_rate = 0.1})},
                    Named{"momentum", SGD({.learning_rate = 0.05, .momentum = 0.9})},
                    Named{"nesterov",
                          SGD({.learning_rate = 0.05, .momentum = 0.9, .nesterov = true})},
                    Named{"lars", LARS({.learning_rate = 0.1, .eeta = 0.1})},
                    Named{"adam", Adam({.learning_rate = 0.02})},
                    Named{"adamw", AdamW({.learning_rate = 0.02})},
                    Named{"rmsprop", RMSprop({.learning_rate = 0.01})},
                    Named{"rmsprop_momentum", RMSprop({.learning_rate = 0.005, .momentum = 0.5})},
                    Named{"adadelta", Adadelta({.learning_rate = 5})}),
    [](const auto& each) { return each.param.name; });

// Linear regression by hand, in double precision: one epoch of SGD without shuffling. Each step
// divides by the number of its real samples, which have a weight; weights multiply the loss.
class ByHand {
 public:
  ByHand(const Tensor& x, const Tensor& y, const Tensor& weight) : x_(x), y_(y), weight_(weight) {}

  void epoch(std::vector<double>& kernel, double& bias, int64_t batch, double rate) const {
    const int64_t count = x_.shape()[0], features = x_.shape()[1];
    for (int64_t first = 0; first < count; first += batch) {
      const int64_t end = std::min(count, first + batch);
      const auto weights =
          weight_.f32().subspan(static_cast<size_t>(first), static_cast<size_t>(end - first));
      const auto real = static_cast<double>(end - first - std::ranges::count(weights, 0.0f));
      std::vector<double> slope(kernel.size());
      double bias_slope = 0;
      for (int64_t i = first; i < end; ++i) {
        double off = bias - static_cast<double>(y_.f32()[static_cast<size_t>(i)]);
        for (int64_t k = 0; k < features; ++k) off += kernel[static_cast<size_t>(k)] * at(i, k);
        const double scale =
            2 * off * static_cast<double>(weight_.f32()[static_cast<size_t>(i)]) / real;
        for (int64_t k = 0; k < features; ++k) slope[static_cast<size_t>(k)] += scale * at(i, k);
        bias_slope += scale;
      }
      for (size_t k = 0; k < kernel.size(); ++k) kernel[k] -= rate * slope[k];
      bias -= rate * bias_slope;
    }
  }

 private:
  double at(int64_t i, int64_t k) const {
    return static_cast<double>(x_.f32()[static_cast<size_t>(i * x_.shape()[1] + k)]);
  }
  const Tensor& x_;
  const Tensor& y_;
  const Tensor& weight_;
};

void expect_as_by_hand(const Tensor& weight, bool give_weight, int64_t batch, int slices) {
  const Tensor x = random_tensor({10, 3}, 1), y = random_tensor({10, 1}, 2);
  Model model = compiled(Sequential({3}, {Dense({.units = 1})}),
                         {.optimizer = SGD({.learning_rate = 0.1}),
                          .loss = "mse",
                          .execution = {.threads = 2, .slices = slices}});
  const Tensor start = model.get_weight("dense/kernel");
  std::vector<double> kernel(start.f32().begin(), start.f32().end());
  double bias = 0;
  const FitOptions options{.batch_size = batch, .shuffle = false, .verbose = 0};
  give_weight ? model.fit(x, y, weight, options) : model.fit(x, y, options);
  ByHand(x, y, weight).epoch(kernel, bias, batch, 0.1);
  for (size_t k = 0; k < kernel.size(); ++k) {
    EXPECT_NEAR(static_cast<double>(model.get_weight("dense/kernel").f32()[k]), kernel[k], 1e-6)
        << "batch " << batch << ", slices " << slices;
  }
  EXPECT_NEAR(static_cast<double>(model.get_weight("dense/bias").f32()[0]), bias, 1e-6);
}

TEST(Fit, PartialBatchesAreThoseOfTheirRealSamples) {
  const Tensor ones = Ones().make({10}, 0);
  for (const int64_t batch : {1, 3, 4, 10, 16}) {
    for (const int slices : {1, 2, 4}) expect_as_by_hand(ones, false, batch, slices);
  }
}

TEST(Fit, SampleWeightsMultiplyTheLossNotTheNormaliser) {
  Tensor weight = random_tensor({10}, 3);
  for (float& value : weight.f32()) value = std::abs(value);
  weight.f32()[4] = 0;
  for (const int64_t batch : {4, 16}) expect_as_by_hand(weight, true, batch, 2);
}

TEST(Fit, SampleWeightOfOneChangesNothing) {
  Images data = images(20);
  Model without = compiled(small_cnn(), classifier());
  Model with = compiled(small_cnn(), classifier());
  const FitOptions options{.batch_size = 8, .verbose = 0};
  without.fit(data.x, data.y, options);
  with.fit(data.x, data.y, Ones().make({20}, 0), options);
  EXPECT_TRUE(same_weights(with, without));
}

TEST(Fit, PaddingDoesNotReachBatchStatistics) {
  // Five samples in a batch of eight against a batch of five.
  const auto train = [](int64_t batch, int slices) {
    Model model = compiled(rich_cnn(), classifier(SGD(), {.threads = 2, .slices = slices}));
    model.set_trainable("dropout", false);  // its masks belong to rows of the batch
    model.fit(image_data(5), {.epochs = 2, .batch_size = batch, .shuffle = false, .verbose = 0});
    return model;
  };
  const Model exact = train(5, 1);
  for (const int slices : {1, 2, 4}) {
    EXPECT_LT(largest_difference(exact, train(8, slices)), 2e-6) << slices;
  }
}

TEST(Fit, StepsPerExecutionDoNotChangeTheResult) {
  const auto train = [](int64_t steps) {
    CompileOptions options = classifier(Adam({.learning_rate = 0.01}));
    options.steps_per_execution = steps;
    Model model = compiled(rich_cnn(), options);
    const History history = model.fit(image_data(50), {.epochs = 2, .batch_size = 8, .verbose = 0});
    return std::pair(model.get_weights(), history);
  };
  const auto [weights, history] = train(1);
  for (const int64_t steps : {0, 2, 3, 100}) {
    const auto [other_weights, other_history] = train(steps);
    EXPECT_TRUE(same_bits(weights, other_weights)) << steps;
    EXPECT_NEAR(history["loss"][1], other_history["loss"][1], 1e-12);
    EXPECT_EQ(history["accuracy"], other_history["accuracy"]);
  }
}

TEST(Fit, InitialEpochContinues) {
  const auto options = [](int64_t first, int64_t end) {
    return FitOptions{.epochs = end, .batch_size = 8, .initial_epoch = first, .verbose = 0};
  };
  Model whole = compiled(rich_cnn(), classifier(Adam({.learning_rate = 0.01})));
  const History all = whole.fit(image_data(30), options(0, 3));
  Model parts = compiled(rich_cnn(), classifier(Adam({.learning_rate = 0.01})));
  parts.fit(image_data(30), options(0, 2));
  const History last = parts.fit(image_data(30), options(2, 3));
  EXPECT_TRUE(same_weights(whole, parts));
  EXPECT_EQ(last.epoch, std::vector<int64_t>{2});
  EXPECT_EQ(last["loss"][0], all["loss"][2]);
}

TEST(Fit, AFitAfterAFitGoesOn) {
  const auto run = [](std::vector<int64_t> fits) {
    Model model = compiled(rich_cnn(), classifier(Adam({.learning_rate = 0.01})));
    std::vector<double> losses;
    for (const int64_t epochs : fits) {
      const History history =
          model.fit(image_data(30), {.epochs = epochs, .batch_size = 8, .verbose = 0});
      EXPECT_EQ(history.epoch.front(), 0);
      losses.insert(losses.end(), history["loss"].begin(), history["loss"].end());
    }
    return losses;
  };
  EXPECT_EQ(run({3}), run({1, 1, 1}));
  EXPECT_EQ(run({3}), run({2, 1}));
}

TEST(Fit, InitialEpochContinuesWithLoadedWeights) {
  const auto options = [](int64_t first, int64_t end) {
    return FitOptions{.epochs = end, .batch_size = 8, .initial_epoch = first, .verbose = 0};
  };
  Model whole = compiled(rich_cnn(), classifier());  // SGD without momentum has no state
  whole.fit(image_data(30), options(0, 2));
  Model resumed = compiled(rich_cnn(), classifier());
  resumed.set_weights(whole.get_weights());
  whole.fit(image_data(30), options(2, 3));
  resumed.fit(image_data(30), options(2, 3));
  EXPECT_TRUE(same_weights(whole, resumed));
}

TEST(Fit, EpochsThatAreDoneAreNothingToDo) {
  Model model = compiled(small_cnn(), classifier());
  const std::vector<Tensor> before = model.get_weights();
  const History history = model.fit(image_data(6), {.epochs = 2, .initial_epoch = 2, .verbose = 0});
  EXPECT_TRUE(history.epoch.empty());
  EXPECT_TRUE(same_bits(before, model.get_weights()));
}

TEST(Fit, NoEpochsAreNothingToDo) {
  Model model = compiled(small_cnn(), classifier());
  const std::vector<Tensor> before = model.get_weights();
  EXPECT_TRUE(model.fit(image_data(6), {.epochs = 0, .verbose = 0}).epoch.empty());
  EXPECT_TRUE(same_bits(before, model.get_weights()));
}

// 20 samples in batches of 8: two steps an epoch, and the four samples left open the next.
TEST(Fit, ACarriedRemainderOpensTheNextEpoch) {
  const Dataset data = image_data(20);
  Model carried = compiled(small_cnn(), classifier());
  carried.fit(
      data,
      {.epochs = 2, .batch_size = 8, .shuffle = false, .carry_remainder = true, .verbose = 0});
  Model by_hand = compiled(small_cnn(), classifier());
  const Dataset order = data.concat(data).take(32);
  by_hand.fit(order, {.batch_size = 8, .shuffle = false, .verbose = 0});
  EXPECT_TRUE(same_bits(carried.get_weights(), by_hand.get_weights()));
}

TEST(Fit, ACarriedRemainderContinuesWithInitialEpoch) {
  const Dataset data = image_data(20);
  const FitOptions whole{.epochs = 3, .batch_size = 8, .carry_remainder = true, .verbose = 0};
  Model once = compiled(small_cnn(), classifier());
  once.fit(data, whole);
  Model twice = compiled(small_cnn(), classifier());
  FitOptions part = whole;
  part.epochs = 1;
  twice.fit(data, part);
  part = whole;
  part.initial_epoch = 1;
  twice.fit(data, part);
  EXPECT_TRUE(same_bits(once.get_weights(), twice.get_weights()));
}

TEST(Fit, ACarriedRemainderNeedsAWholeBatch) {
  Model model = compiled(small_cnn(), classifier());
  EXPECT_SAYS(error_of([&] {
                model.fit(image_data(6), {.batch_size = 8, .carry_remainder = true, .verbose = 0});
              }),
              "6 samples", "weight update of 8");
}

TEST(Fit, ShuffleChangesTheOrderOfSamples) {
  const auto train = [](bool shuffle) {
    Model model = compiled(small_cnn(), classifier());
    model.fit(image_data(30), {.batch_size = 8, .shuffle = shuffle, .verbose = 0});
    return model;
  };
  EXPECT_FALSE(same_weights(train(true), train(false)));
  EXPECT_TRUE(same_weights(train(true), train(true)));
  EXPECT_TRUE(same_weights(train(false), train(false)));
}

TEST(Fit, ValidationDataAreEvaluatedAfterEachEpoch) {
  const Dataset validation = image_data(11, 99);
  Model model = compiled(small_cnn(), classifier());
  const History history = model.fit(
      image_data(30),
      {.epochs = 2, .validation_data = validation, .validation_batch_size = 4, .verbose = 0});
  ASSERT_EQ(history["val_loss"].size(), 2u);
  const Logs logs = model.evaluate(validation, {.batch_size = 4});
  EXPECT_EQ(history["val_loss"][1], value_of(logs, "loss"));
  EXPECT_EQ(history["val_accuracy"][1], value_of(logs, "accuracy"));
}

TEST(Fit, ValidationSplitKeepsTheLastSamples) {
  const Images all = images(20);
  Model split = compiled(small_cnn(), classifier());
  const History history = split.fit(
      all.x, all.y, {.epochs = 2, .batch_size = 4, .validation_split = 0.25, .verbose = 0});
  Model first = compiled(small_cnn(), classifier());
  first.fit(all.x.rows(0, 15), all.y.rows(0, 15), {.epochs = 2, .batch_size = 4, .verbose = 0});
  EXPECT_TRUE(same_weights(split, first));
  const Logs logs = first.evaluate(all.x.rows(15, 20), all.y.rows(15, 20), {.batch_size = 4});
  EXPECT_EQ(history["val_loss"][1], value_of(logs, "loss"));
}

TEST(Fit, HistoryHasARowForEachEpoch) {
  Model model = compiled(small_cnn(), classifier());
  const History history = model.fit(image_data(12), {.epochs = 3, .verbose = 0});
  EXPECT_EQ(history.epoch, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(history.values.size(), 2u);
  EXPECT_EQ(history["loss"].size(), 3u);
  EXPECT_EQ(history["accuracy"].size(), 3u);
}

TEST(Fit, RefusesOptionsThatMakeNoSense) {
  Model model = compiled(small_cnn(), classifier());
  const Dataset data = image_data(8);
  const auto says = [&](const FitOptions& options) {
    return error_of([&] { model.fit(data, options); });
  };
  EXPECT_SAYS(says({.batch_size = 0, .verbose = 0}), "batch_size: ", "got 0");
  EXPECT_SAYS(says({.epochs = 1, .initial_epoch = 2, .verbose = 0}), "initial_epoch 2");
  EXPECT_SAYS(says({.epochs = 1, .initial_epoch = -1, .verbose = 0}), "initial_epoch -1");
  EXPECT_SAYS(says({.validation_data = data, .validation_split = 0.5, .verbose = 0}), "not both");
  EXPECT_SAYS(says({.validation_split = 1.5, .verbose = 0}), "1.5");
  EXPECT_SAYS(says({.verbose = 3}), "verbose: ", "got 3");
  const auto fit = [&](const Dataset& other) {
    return error_of([&] { model.fit(other, {.verbose = 0}); });
  };
  EXPECT_SAYS(fit(data.take(0)), "empty");
  EXPECT_SAYS(fit(data.repeat()), "no end");
}

// Weights explode at the first update; the second loss overflows.
CompileOptions exploding(int64_t steps_per_execution) {
  return {.optimizer = Adam({.learning_rate = 1e30}),
          .loss = "mse",
          .steps_per_execution = steps_per_execution};
}

TEST(Fit, NonFiniteLossKeepsTheWeightsBeforeThatStep) {
  const Tensor x = random_tensor({4, 3}, 1), y = random_tensor({4, 1}, 2);
  const Network network = Sequential({3}, {Dense({.units = 1})});
  Model one = compiled(network, exploding(0));
  one.fit(x, y, {.batch_size = 4, .verbose = 0});
  Model model = compiled(network, exploding(0));
  const std::string message = error_of<NonFiniteLoss>(
      [&] { model.fit(x, y, {.epochs = 3, .batch_size = 4, .verbose = 0}); });
  EXPECT_SAYS(message, "epoch 2, step 1 of 1");
  EXPECT_SAYS(message, "smaller learning rate");
  EXPECT_TRUE(same_weights(one, model));
}

TEST(Fit, NonFiniteLossNamesLossScalingWhereItMayBeTheReason) {
  CompileOptions overflowing = exploding(0);
  overflowing.precision = {DType::f16, DType::f16};
  overflowing.half.nan_on_overflow = true;
  CompileOptions scaled = exploding(0);
  scaled.loss_scaling.factor = 128;
  CompileOptions automatic = exploding(0);
  automatic.loss_scaling.automatic = true;
  const Tensor x = random_tensor({4, 3}, 1), y = random_tensor({4, 1}, 2);
  for (const CompileOptions& options : {overflowing, scaled, automatic}) {
    Model model = compiled(Sequential({3}, {Dense({.units = 1})}), options);
    EXPECT_SAYS(error_of<NonFiniteLoss>(
                    [&] { model.fit(x, y, {.epochs = 3, .batch_size = 4, .verbose = 0}); }),
                "smaller learning rate", "smaller loss scaling");
  }
}

TEST(Fit, AfterANonFiniteLossTheCountOfUpdatesIsRight) {
  const Tensor x = random_tensor({12, 3}, 1), y = random_tensor({12, 1}, 2);
  const auto train = [&](int64_t steps_per_execution) {
    Model model = compiled(Sequential({3}, {Dense({.units = 1})}), exploding(steps_per_execution));
    const std::vector<Tensor> start = model.get_weights();
    EXPECT_THROW(model.fit(x, y, {.batch_size = 4, .verbose = 0}), NonFiniteLoss);
    model.set_weights(start);
    model.set_learning_rate(0.01);
    model.fit(x, y, {.batch_size = 4, .verbose = 0});
    return model;
  };
  EXPECT_TRUE(same_weights(train(1), train(3)));
}

TEST(Evaluate, CountsEverySampleOnce) {
  const Dataset data = image_data(50);
  Model first = compiled(rich_cnn(), classifier(SGD(), {.threads = 1}));
  first.fit(data, {.verbose = 0});
  const Logs wanted = first.evaluate(data, {.batch_size = 1});
  for (const int threads : {1, 2}) {
    Model model = compiled(rich_cnn(), classifier(SGD(), {.threads = threads}));
    model.set_weights(first.get_weights());
    for (const int64_t batch : {1, 7, 64}) {
      const Logs logs = model.evaluate(data, {.batch_size = batch});
      EXPECT_NEAR(value_of(logs, "loss"), value_of(wanted, "loss"), 1e-6) << batch;
      EXPECT_EQ(value_of(logs, "accuracy"), value_of(wanted, "accuracy")) << batch;
    }
  }
}

TEST(Evaluate, SampleWeightsMultiplyTheLoss) {
  const Images data = images(6);
  Model model = compiled(small_cnn(), classifier());
  const double plain = value_of(model.evaluate(data.x, data.y), "loss");
  const Logs doubled = model.evaluate(data.x, data.y, Constant(2).make({6}, 0));
  EXPECT_NEAR(value_of(doubled, "loss"), 2 * plain, 1e-6);
  EXPECT_EQ(value_of(doubled, "accuracy"), value_of(model.evaluate(data.x, data.y), "accuracy"));
}

TEST(Evaluate, RefusesDataThatAreNone) {
  Model model = compiled(small_cnn(), classifier());
  EXPECT_SAYS(error_of([&] { model.evaluate(image_data(4).take(0)); }),
              "evaluate: the data set is");
  EXPECT_SAYS(error_of([&] { model.evaluate(image_data(4), {.batch_size = -1}); }),
              "batch_size: ", "got -1");
}

TEST(Predict, IsWhatEvaluateSees) {
  const Images data = images(25);
  Model model = compiled(small_cnn(), classifier());
  model.fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  const Tensor output = model.predict(data.x);
  ASSERT_EQ(output.shape(), (Shape{25, 3}));
  double right = 0, loss = 0;
  for (size_t i = 0; i < 25; ++i) {
    const auto row = output.f32().subspan(i * 3, 3);
    const auto label = static_cast<size_t>(data.y.i32()[i]);
    right += std::ranges::max_element(row) - row.begin() == static_cast<long>(label) ? 1 : 0;
    loss -= std::log(static_cast<double>(row[label]));
    EXPECT_NEAR(row[0] + row[1] + row[2], 1, 1e-6);
  }
  const Logs logs = model.evaluate(data.x, data.y);
  EXPECT_EQ(value_of(logs, "accuracy"), right / 25);
  EXPECT_NEAR(value_of(logs, "loss"), loss / 25, 1e-5);
}

TEST(Predict, DoesNotDependOnTheBatchSize) {
  const Images data = images(25);
  Model model(rich_cnn());
  const Tensor wanted = model.predict(data.x, 1);
  for (const int64_t batch : {2, 7, 25, 64}) {
    EXPECT_LT(difference(model.predict(data.x, batch), wanted).absolute, 1e-6) << batch;
  }
}

TEST(Predict, OutputOfASharedLayer) {
  const SymbolicTensor x = Input({8, 8, 1});
  const Layer halve = Conv2D({.filters = 1, .strides = {2, 2}, .kernel_initializer = Ones()});
  Model model(x, halve(ReLU()(halve(x))));
  const Tensor output = model.predict(Ones().make({3, 8, 8, 1}, 0));
  EXPECT_TRUE(same_bits(output, Ones().make({3, 2, 2, 1}, 0)));
}

TEST(Predict, RefusesDataThatDoNotFit) {
  Model model(small_cnn());
  EXPECT_SAYS(error_of([&] { model.predict(random_tensor({2, 5, 6, 1}, 1)); }), "[5,6,1]");
  EXPECT_SAYS(error_of([&] {
                model.predict(random_tensor({2, 6, 6, 1}, 1), 0);
              }),
              "batch_size: ", "got 0");
}

}  // namespace
}  // namespace pando
