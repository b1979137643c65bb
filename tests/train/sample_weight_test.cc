// Rows of weight 0 are padding wherever they are; other weights multiply the loss.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <mutex>

#include "pando/train/batch_source.h"
#include "tests/support/thread_instances.h"
#include "tests/train/spread.h"

namespace pando {
namespace {

using testing_support::on_instances;

// Rows of the images in this order; -1 is a row of weight 0 that would spoil every result.
Dataset rows_of(const Images& all, const std::vector<int>& rows, float weight = 1) {
  const auto count = static_cast<int64_t>(rows.size());
  Tensor x(DType::f32, {count, 6, 6, 1}), y(DType::i32, {count}), weights(DType::f32, {count});
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::span<float> to = x.f32().subspan(i * 36, 36);
    std::ranges::fill(to, std::numeric_limits<float>::quiet_NaN());
    y.i32()[i] = 99;
    if (rows[i] < 0) continue;
    std::ranges::copy(all.x.f32().subspan(static_cast<size_t>(rows[i]) * 36, 36), to.begin());
    y.i32()[i] = all.y.i32()[static_cast<size_t>(rows[i])];
    weights.f32()[i] = weight;
  }
  return Dataset::from_tensors(std::move(x), std::move(y), std::move(weights));
}

// The first `count` images, then rows of weight 0 up to `padded`.
Dataset padded_by_hand(int count, size_t padded) {
  std::vector<int> rows(padded, -1);
  for (int i = 0; i < count; ++i) rows[static_cast<size_t>(i)] = i;
  return rows_of(images(count), rows);
}

// A network with batch normalisation and without dropout, whose masks depend on the place of a
// sample.
Network normed_cnn() {
  return Sequential({6, 6, 1}, {Conv2D({.filters = 5, .kernel = {3, 3}, .name = "first"}),
                                BatchNormalization({.momentum = 0.9}), ReLU({.name = "middle"}),
                                Flatten(), Dense({.units = 3, .activation = "softmax"})});
}

FitOptions in_order(int64_t batch, int64_t epochs = 2) {
  return {.epochs = epochs, .batch_size = batch, .shuffle = false, .verbose = 0};
}

Model fitted(const Network& network, const Spread& how, const Dataset& data, int64_t epochs = 2) {
  Model model = spread(network, how);
  model.fit(data, in_order(how.micro_batch, epochs));
  return model;
}

Model fitted_on(int instances, const Network& network, const Spread& how, const Dataset& data) {
  std::mutex mutex;
  std::vector<Model> models;
  on_instances(instances, [&](comm::Communicator&) {
    const Model model = fitted(network, how, data);
    const std::lock_guard lock(mutex);
    models.push_back(model);
  });
  for (const Model& model : models) EXPECT_TRUE(same_weights(model, models[0]));
  return models[0];
}

const std::vector<Spread>& ways() {
  static const std::vector<Spread> all = {
      {.micro_batch = 16, .accumulation = 1},
      {.micro_batch = 16, .accumulation = 1, .slices = 3},
      {.micro_batch = 2, .accumulation = 1, .slices = 4},
      {.micro_batch = 4, .accumulation = 4},
      {.devices = 2, .micro_batch = 4, .accumulation = 2},
      {.devices = 2, .micro_batch = 4, .accumulation = 2, .replication = {.statistics_group = 2}},
      {.devices = 2, .micro_batch = 4, .accumulation = 4, .splits = {"middle"}},
      {.devices = 2,
       .micro_batch = 4,
       .accumulation = 4,
       .splits = {"middle"},
       .schedule = PipelineSchedule::interleaved,
       .recomputation = Recomputation::then_backward},
      {.devices = 2, .micro_batch = 4, .accumulation = 2, .reduction = GradientReduction::sum},
      {.devices = 2,
       .micro_batch = 4,
       .accumulation = 2,
       .reduction = GradientReduction::running_mean},
      {.devices = 2, .micro_batch = 4, .accumulation = 2, .precision = parse_precision("16.16")},
      {.micro_batch = 8, .accumulation = 2, .precision = parse_precision("16.32")},
  };
  return all;
}

TEST(SampleWeight, PaddingByHandChangesNothing) {
  for (const Spread& how : ways()) {
    Model plain = fitted(normed_cnn(), how, image_data(44));
    Model padded = fitted(normed_cnn(), how, padded_by_hand(44, 48));
    const size_t way = static_cast<size_t>(&how - ways().data());
    EXPECT_TRUE(same_weights(plain, padded)) << "way " << way;
    const EvaluateOptions options{.batch_size = how.micro_batch};
    EXPECT_EQ(plain.evaluate(image_data(44), options),
              padded.evaluate(padded_by_hand(44, 48), options))
        << "way " << way;
  }
}

TEST(SampleWeight, PaddingByHandChangesNothingOnInstances) {
  const std::vector<Spread> of_two = {
      {.micro_batch = 4, .accumulation = 2},
      {.micro_batch = 4, .accumulation = 2, .replication = {.statistics_group = 2}},
      {.micro_batch = 4, .accumulation = 2, .precision = parse_precision("16.16")},
      {.devices = 2, .micro_batch = 2, .accumulation = 2}};
  for (const Spread& how : of_two) {
    EXPECT_TRUE(same_weights(fitted_on(2, normed_cnn(), how, image_data(44)),
                             fitted_on(2, normed_cnn(), how, padded_by_hand(44, 48))))
        << "way " << &how - of_two.data();
  }
}

TEST(SampleWeight, DropoutMasksOfAnEpochStay) {
  const Spread how{.micro_batch = 16, .accumulation = 1};
  EXPECT_TRUE(same_weights(fitted(rich_cnn(), how, image_data(44), 1),
                           fitted(rich_cnn(), how, padded_by_hand(44, 48), 1)));
}

// A micro-batch with holes is the shorter micro-batch of its samples.
TEST(SampleWeight, RowsAnywhereArePadding) {
  const Images all = images(24);
  const Dataset holes = rows_of(all, {-1, 0, 1, -1, 2, -1, -1, 3, 4, 5});
  const Dataset without = rows_of(all, {0, 1, 2, 3, 4, 5});
  for (const int slices : {1, 3}) {
    const Spread how{.micro_batch = 10, .accumulation = 1, .slices = slices};
    EXPECT_TRUE(same_weights(fitted(normed_cnn(), how, holes), fitted(normed_cnn(), how, without)));
  }
}

// The divisor of an update is the number of its samples on all replicas, however the holes fall.
TEST(SampleWeight, AnyDivisionWithHolesGivesTheSameUpdate) {
  const Images all = images(24);
  const std::vector<int> rows = {-1, -1, 0,  -1, 1,  2,  3,  -1, 4,  5,  6,  7,  -1, -1, 8,  9,
                                 10, 11, 12, 13, -1, -1, -1, -1, 14, 15, -1, 16, 17, 18, 19, 20};
  const Network network = Sequential(
      {6, 6, 1}, {Conv2D({.filters = 4, .kernel = {3, 3}, .activation = "tanh", .name = "first"}),
                  Flatten({.name = "middle"}), Dense({.units = 3, .activation = "softmax"})});
  const Dataset data = rows_of(all, rows);
  const Model expected = fitted(network, {.micro_batch = 16, .accumulation = 1}, data);
  const auto expect_close = [&](const Model& found) {
    EXPECT_LT(largest_difference(found, expected), 2e-6);
  };
  expect_close(fitted(network, {.micro_batch = 2, .accumulation = 8}, data));
  expect_close(fitted(network, {.devices = 2, .micro_batch = 2, .accumulation = 4}, data));
  expect_close(fitted(network, {.devices = 4, .micro_batch = 4, .accumulation = 1}, data));
  expect_close(fitted(
      network, {.devices = 2, .micro_batch = 4, .accumulation = 4, .splits = {"middle"}}, data));
  expect_close(fitted(network,
                      {.devices = 2,
                       .micro_batch = 2,
                       .accumulation = 4,
                       .reduction = GradientReduction::running_mean},
                      data));
  expect_close(fitted_on(2, network, {.micro_batch = 2, .accumulation = 4}, data));
  expect_close(fitted_on(2, network,
                         {.devices = 2,
                          .micro_batch = 2,
                          .accumulation = 2,
                          .reduction = GradientReduction::running_mean},
                         data));
}

TEST(SampleWeight, AnUpdateOfPaddingAloneChangesNothing) {
  const auto train = [](const Dataset& data) {
    Model model(normed_cnn());
    model.compile(classifier(
        regularized(SGD({.learning_rate = 0.1, .momentum = 0.9}), {.weight_decay = 0.01})));
    const History history = model.fit(data, in_order(8, 1));
    return std::pair(model, history["loss"]);
  };
  const auto [plain, loss] = train(image_data(16));
  const auto [padded, padded_loss] = train(padded_by_hand(16, 32));
  EXPECT_TRUE(same_weights(plain, padded));
  EXPECT_EQ(loss, padded_loss);
}

TEST(SampleWeight, WeightsMultiplyTheLossAndLeaveItsDivisor) {
  const auto build = [](const LossInputs& in) { return SparseCategoricalCrossentropy().build(in); };
  CompileOptions options = classifier();
  options.metrics = {"accuracy", Metric("own", build)};
  Model model = compiled(small_cnn(), options);
  const Images all = images(6);
  const std::vector<int> rows = {0, 1, 2, -1, 3, 4, 5, -1};
  const Logs plain = model.evaluate(image_data(6), {.batch_size = 4});
  const Logs weighted = model.evaluate(rows_of(all, rows, 0.5f), {.batch_size = 4});
  EXPECT_NEAR(value_of(weighted, "loss"), value_of(plain, "loss") / 2, 1e-6);
  EXPECT_EQ(value_of(weighted, "accuracy"), value_of(plain, "accuracy"));
  EXPECT_NEAR(value_of(weighted, "own"), value_of(plain, "loss"), 1e-6);
}

TEST(SampleWeight, WeightedMetricsAreWeightedMeans) {
  CompileOptions options = classifier();
  options.weighted_metrics = {"accuracy", "mse"};
  options.loss = "categorical_crossentropy";
  Model model = compiled(small_cnn(), options);
  Images all = images(5);
  const Tensor output = model.predict(all.x);
  Tensor labels(DType::f32, {5, 3}), weights(DType::f32, {5});
  double hits = 0, weighted_hits = 0, squares = 0, sum = 0;
  for (size_t i = 0; i < 5; ++i) {
    const auto label = static_cast<size_t>(all.y.i32()[i]);
    labels.f32()[i * 3 + label] = 1;
    const float weight = weights.f32()[i] = 0.25f * static_cast<float>(i);  // row 0 is padding
    const std::span<const float> row = output.f32().subspan(i * 3, 3);
    const bool hit = std::ranges::max_element(row) - row.begin() == static_cast<int64_t>(label);
    double square = 0;
    for (size_t k = 0; k < 3; ++k) square += std::pow(row[k] - labels.f32()[i * 3 + k], 2) / 3;
    if (i > 0 && hit) hits += 0.25;
    if (hit) weighted_hits += weight;
    squares += weight * square;
    sum += weight;
  }
  const Logs logs = model.evaluate(all.x, labels, weights, {.batch_size = 2});
  ASSERT_EQ(logs.size(), 4u);
  EXPECT_NEAR(value_of(logs, "accuracy"), hits, 1e-6);
  EXPECT_NEAR(value_of(logs, "weighted_accuracy"), weighted_hits / sum, 1e-6);
  EXPECT_NEAR(value_of(logs, "mse"), squares / sum, 1e-6);
  // Without weights they are metrics like the others.
  const Logs unweighted = model.evaluate(all.x, labels, EvaluateOptions{.batch_size = 2});
  EXPECT_EQ(value_of(unweighted, "weighted_accuracy"), value_of(unweighted, "accuracy"));
}

TEST(SampleWeight, EverythingCountsSamplesOnly) {
  class Counting : public Callback {
   public:
    void on_execution_end(FitContext& context, const Logs&) override {
      samples += context.sums.samples;
    }
    int64_t samples = 0;
  };
  const auto counting = std::make_shared<Counting>();
  Model model = compiled(small_cnn(), classifier());
  FitOptions options = in_order(4, 1);
  options.callbacks = {counting};
  model.fit(padded_by_hand(9, 16), options);
  EXPECT_EQ(counting->samples, 9);
}

TEST(SampleWeight, PredictionsHaveAllRows) {
  Model model = compiled(small_cnn(), classifier());
  const Images all = images(4);
  const Tensor some = model.predict(rows_of(all, {0, -1, 1, 2, -1, 3}), {.batch_size = 4});
  const Tensor whole = model.predict(all.x, 4);
  ASSERT_EQ(some.shape(), Shape({6, 3}));
  const std::vector<size_t> at = {0, 2, 3, 5};
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(some.f32()[at[i / 3] * 3 + i % 3], whole.f32()[i]);
}

TEST(SampleWeight, RowsKeepTheirOrder) {
  Batch batch{.valid = 4};
  batch.fields = {Tensor(DType::f32, {5, 2}), Tensor(DType::f32, {5})};
  const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8, 0, 0}, weights = {0, 2, -0.0f, 1, 0};
  std::ranges::copy(values, batch.fields[0].f32().begin());
  std::ranges::copy(weights, batch.fields[1].f32().begin());
  train::remove_unweighted(batch, {1});
  EXPECT_EQ(batch.valid, 2);
  const auto x = batch.fields[0].f32();
  EXPECT_EQ(std::vector<float>(x.begin(), x.end()),
            (std::vector<float>{3, 4, 7, 8, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(batch.fields[1].f32()[1], 1);
}

}  // namespace
}  // namespace pando
