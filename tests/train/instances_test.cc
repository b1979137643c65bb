// However a model is spread over the instances of a job, it learns the same.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <filesystem>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>

#include "pando/train/callbacks.h"
#include "tests/support/temp_folder.h"
#include "tests/support/thread_instances.h"
#include "tests/train/spread.h"

namespace pando {
namespace {

using testing_support::on_instances;

class AfterExecutions : public Callback {
 public:
  explicit AfterExecutions(std::function<void(FitContext&)> call) : call_(std::move(call)) {}
  void on_execution_end(FitContext& context, const Logs&) override { call_(context); }

 private:
  std::function<void(FitContext&)> call_;
};

// One of the instances' models; all of them have the same weights.
Model trained_on(int instances, const Network& network, const Spread& how) {
  std::mutex mutex;
  std::vector<Model> models;
  on_instances(instances, [&](comm::Communicator&) {
    const Model model = trained(network, how);
    const std::lock_guard lock(mutex);
    models.push_back(model);
  });
  for (const Model& model : models) EXPECT_TRUE(same_weights(model, models[0]));
  return models[0];
}

TEST(Instances, AnyDivisionOfAGlobalBatchGivesTheSameUpdate) {
  const Model expected = trained(plain_cnn(), {.micro_batch = 16, .accumulation = 1});
  const auto expect_close = [&](int instances, const Spread& how) {
    EXPECT_LT(largest_difference(trained_on(instances, plain_cnn(), how), expected), 2e-6)
        << instances << " instances of " << how.devices << " devices";
  };
  expect_close(2, {.accumulation = 4});
  expect_close(2, {.devices = 2, .accumulation = 2});
  expect_close(4, {.accumulation = 2});
  expect_close(8, {.accumulation = 1});
  expect_close(2, {.micro_batch = 8, .accumulation = 1, .slices = 2});
  expect_close(2, {.devices = 2, .accumulation = 4, .splits = {"join"}});
  expect_close(2, {.accumulation = 4, .reduction = GradientReduction::running_mean});
  expect_close(2, {.devices = 2, .accumulation = 2, .reduction = GradientReduction::running_mean});
}

TEST(Instances, SumsAreThoseOfReplicas) {
  const Spread whole{.devices = 4, .accumulation = 2, .reduction = GradientReduction::sum};
  const Spread half{.devices = 2, .accumulation = 2, .reduction = GradientReduction::sum};
  EXPECT_LT(largest_difference(trained_on(2, plain_cnn(), half), trained(plain_cnn(), whole)),
            1e-4);
}

TEST(Instances, ARunIsItsRepetitionToTheBit) {
  const Spread how{.devices = 2, .accumulation = 2};
  EXPECT_TRUE(same_weights(trained_on(2, rich_cnn(), how), trained_on(2, rich_cnn(), how)));
}

TEST(Instances, BatchNormalisationFollowsTheWholeGlobalBatch) {
  const Model expected = trained(rich_cnn(), {.devices = 4, .accumulation = 2});
  const Model found = trained_on(2, rich_cnn(), {.devices = 2, .accumulation = 2});
  EXPECT_LT(largest_difference(found, expected), 2e-6);
}

TEST(Instances, TakeBatchStatisticsTogether) {
  const Model two = trained(
      rich_cnn(), {.devices = 2, .accumulation = 4, .replication = {.statistics_group = 2}});
  const Model apart = trained(rich_cnn(), {.devices = 2, .accumulation = 4});
  EXPECT_GT(largest_difference(two, apart), 1e-3);
  const auto expect_close = [&](int instances, const Spread& how, const Model& expected) {
    EXPECT_LT(largest_difference(trained_on(instances, rich_cnn(), how), expected), 2e-6);
  };
  expect_close(2, {.accumulation = 4, .replication = {.statistics_group = 2}}, two);
  expect_close(
      2, {.accumulation = 4, .slices = 2, .replication = {.statistics_group = 2}},
      trained(
          rich_cnn(),
          {.devices = 2, .accumulation = 4, .slices = 2, .replication = {.statistics_group = 2}}));
  const Model four = trained(
      rich_cnn(), {.devices = 4, .accumulation = 2, .replication = {.statistics_group = 4}});
  expect_close(2, {.devices = 2, .accumulation = 2, .replication = {.statistics_group = 4}}, four);
  const Model pairs = trained(
      rich_cnn(), {.devices = 4, .accumulation = 2, .replication = {.statistics_group = 2}});
  expect_close(4, {.accumulation = 2, .replication = {.statistics_group = 2}}, pairs);
  expect_close(2, {.devices = 2, .accumulation = 2, .replication = {.statistics_group = 2}}, pairs);
}

TEST(Instances, StatisticsOfPartsOfInstancesAreRefused) {
  on_instances(3, [](comm::Communicator&) {
    EXPECT_SAYS(error_of([] {
                  trained(rich_cnn(), {.devices = 2, .replication = {.statistics_group = 3}});
                }),
                "statistics_group: ", "groups of 3", "2 replicas per instance");
    EXPECT_SAYS(error_of([] {
                  trained(rich_cnn(), {.devices = 2, .replication = {.statistics_group = 4}});
                }),
                "statistics_group: ", "6 replicas", "got 4");
  });
}

TEST(Instances, OptimizersThatWantNorms) {
  const auto train = [](int devices, int accumulation) {
    const DeviceStrategy strategy({.devices = devices});
    const auto scope = strategy.scope();
    Model model(plain_cnn(), {.seed = 5});
    model.compile(classifier(LARS({.learning_rate = 0.5}), {.slices = 1}));
    model.set_gradient_accumulation_options({.steps_per_replica = accumulation});
    model.fit(image_data(44), {.epochs = 2, .batch_size = 2, .verbose = 0});
    return model;
  };
  const Model expected = train(2, 4);
  on_instances(
      2, [&](comm::Communicator&) { EXPECT_LT(largest_difference(train(1, 4), expected), 2e-6); });
}

TEST(Instances, HalvesOnTheWireAreTheSameEverywhereAndClose) {
  const Model expected = trained(plain_cnn(), {.devices = 2, .accumulation = 4});
  const Model found = trained_on(
      2, plain_cnn(), {.accumulation = 4, .replication = {.wire = comm::WireFormat::f16}});
  const double difference = largest_difference(found, expected);
  EXPECT_LT(difference, 1e-3);
  EXPECT_GT(difference, 0);
}

TEST(Instances, BeginWithTheWeightsOfTheFirst) {
  std::mutex mutex;
  std::vector<Model> models;
  on_instances(3, [&](comm::Communicator& self) {
    Model model(small_cnn(), {.seed = self.rank() == 0 ? 3u : 99u});
    model.compile(classifier(SGD({.learning_rate = 0})));
    model.fit(image_data(12), {.batch_size = 2, .shuffle = false, .verbose = 0});
    const std::lock_guard lock(mutex);
    models.push_back(model);
  });
  const Model first(small_cnn(), {.seed = 3});
  for (const Model& model : models) EXPECT_TRUE(same_weights(model, first));
}

TEST(Instances, GoByTheSeedOfTheFirst) {
  const auto train = [](uint64_t seed, int64_t batch) {
    Model model(plain_cnn(), {.seed = seed});
    model.compile(classifier(SGD({.learning_rate = 0.1}), {.slices = 1}));
    model.fit(image_data(24), {.epochs = 2, .batch_size = batch, .verbose = 0});
    return model;
  };
  const Model expected = train(3, 4);
  on_instances(2, [&](comm::Communicator& self) {
    EXPECT_LT(largest_difference(train(self.rank() == 0 ? 3 : 99, 2), expected), 2e-6);
  });
}

// The logs of a fit with validation, and of an evaluation.
Logs figures_of(int devices) {
  Model model = spread(small_cnn(), {.devices = devices, .accumulation = 1});
  const History history = model.fit(image_data(44), {.epochs = 2,
                                                     .batch_size = 2,
                                                     .shuffle = false,
                                                     .validation_data = image_data(13, 9),
                                                     .verbose = 0});
  Logs figures = model.evaluate(image_data(17), {.batch_size = 4});
  for (const auto& [name, values] : history.values) figures.emplace_back(name, values.back());
  return figures;
}

TEST(Instances, FiguresAreThoseOfAllSamples) {
  std::mutex mutex;
  std::vector<Logs> found;
  on_instances(2, [&](comm::Communicator&) {
    const Logs own = figures_of(1);
    const std::lock_guard lock(mutex);
    found.push_back(own);
  });
  EXPECT_EQ(found[0], found[1]);
  const Logs expected = figures_of(2);
  ASSERT_EQ(found[0].size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[0][i].first, expected[i].first);
    EXPECT_NEAR(found[0][i].second, expected[i].second, 1e-6) << expected[i].first;
  }
}

TEST(Instances, AWishToStopOfOneStopsAllAfterTheSameUpdate) {
  std::mutex mutex;
  std::vector<TrainingPosition> positions;
  on_instances(3, [&](comm::Communicator& self) {
    Model model = spread(small_cnn(), {.accumulation = 1});
    std::atomic<bool> stop{false};
    const auto after_three = std::make_shared<AfterExecutions>([&](FitContext& context) {
      if (self.rank() == 2 && context.updates == 3) stop = true;
    });
    FitOptions fit{.epochs = 4, .batch_size = 2, .verbose = 0};
    fit.callbacks = {after_three};
    fit.stop = &stop;
    model.fit(image_data(60), fit);
    const std::lock_guard lock(mutex);
    positions.push_back(model.position());
  });
  ASSERT_EQ(positions.size(), 3u);
  for (const TrainingPosition& position : positions) EXPECT_EQ(position, positions[0]);
  EXPECT_EQ(positions[0].epoch, 0);
  EXPECT_LT(positions[0].update, 10);
}

// Expects this many epochs on all instances when only the last one's callbacks ask for a stop.
void expect_epochs(size_t count, const std::function<void(CallbackFunctions&)>& wish) {
  on_instances(3, [&](comm::Communicator& self) {
    CallbackFunctions functions;
    if (self.rank() == 2) wish(functions);
    Model model = spread(small_cnn(), {.accumulation = 1});
    FitOptions fit{.epochs = 4, .batch_size = 2, .verbose = 0};
    fit.callbacks = {LambdaCallback(functions)};
    EXPECT_EQ(model.fit(image_data(12), fit).epoch.size(), count) << self.rank();
  });
}

TEST(Instances, ACallbackOfOneStopsAll) {
  const auto stop = [](FitContext& context) { context.stop = true; };
  const auto stop_after = [](FitContext& context, const Logs&) { context.stop = true; };
  expect_epochs(0, [&](CallbackFunctions& functions) { functions.train_begin = stop; });
  expect_epochs(0, [&](CallbackFunctions& functions) { functions.epoch_begin = stop; });
  expect_epochs(1, [&](CallbackFunctions& functions) { functions.execution_end = stop_after; });
  expect_epochs(1, [&](CallbackFunctions& functions) { functions.epoch_end = stop_after; });
}

TEST(Instances, FitsOnDifferentTermsAreRefused) {
  std::atomic<int> refused{0};
  on_instances(2, [&](comm::Communicator& self) {
    Model model = spread(small_cnn(), {.accumulation = 1});
    const Dataset data = image_data(self.rank() == 0 ? 40 : 36);
    EXPECT_SAYS(error_of([&] { model.fit(data, {.batch_size = 2, .verbose = 0}); }),
                "fit: instance 0 gives 40 shuffled samples, 0 to validate, epochs 0 to 1 from "
                "update 0, 1 replicas x 1 micro-batches of 2 in precision 32.32, instance 1 gives "
                "36 ");
    const Precision own = self.rank() == 0 ? Precision{} : Precision{DType::f16, DType::f16};
    Model other = spread(small_cnn(), {.accumulation = 1, .precision = own});
    EXPECT_SAYS(error_of([&] { other.fit(image_data(40), {.batch_size = 2, .verbose = 0}); }),
                "in precision 32.32, instance 1 gives 40 ");
    ++refused;
  });
  EXPECT_EQ(refused, 2);
}

TEST(Instances, OneWritesTheCheckpoints) {
  const testing_support::TempFolder folder;
  on_instances(2, [&](comm::Communicator& self) {
    Model model = spread(small_cnn(), {.accumulation = 1});
    FitOptions fit{.batch_size = 2, .verbose = 0};
    fit.callbacks = {Checkpoint(folder.path(concat("of", self.rank())) + "/epoch_{epoch}.h5")};
    model.fit(image_data(12), fit);
  });
  EXPECT_TRUE(std::filesystem::exists(folder.path("of0") + "/epoch_1.h5"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("of1")));
}

TEST(Instances, ALossThatIsNotFiniteStopsAllBeforeThatUpdate) {
  Images data = images(48);
  // In the part of instance 1 of the third global batch of 8: its samples 4 to 7.
  data.x.f32()[static_cast<size_t>((16 + 5) * 36)] = std::numeric_limits<float>::quiet_NaN();
  std::atomic<int> stopped{0};
  std::mutex mutex;
  std::vector<Model> models;
  on_instances(2, [&](comm::Communicator&) {
    Model model = spread(small_cnn(), {.accumulation = 1});
    EXPECT_THROW(model.fit(Dataset::from_tensors(data.x, data.y),
                           {.epochs = 1, .batch_size = 4, .shuffle = false, .verbose = 0}),
                 NonFiniteLoss);
    EXPECT_EQ(model.position(), (TrainingPosition{0, 2}));
    ++stopped;
    const std::lock_guard lock(mutex);
    models.push_back(model);
  });
  EXPECT_EQ(stopped, 2);
  EXPECT_TRUE(same_weights(models[0], models[1]));
}

TEST(Instances, AnErrorOfOneEndsTheOthers) {
  std::atomic<int> ended{0};
  EXPECT_THROW(on_instances(2,
                            [&](comm::Communicator& self) {
                              Model model = spread(small_cnn(), {.accumulation = 1});
                              const Dataset data =
                                  image_data(40).map_in_place([&self](const SampleView& sample) {
                                    if (self.rank() == 1 && sample.index() > 20) {
                                      throw IoError("no such sample");
                                    }
                                  });
                              try {
                                model.fit(data, {.batch_size = 2, .shuffle = false, .verbose = 0});
                              } catch (const CommError&) {
                                ++ended;
                                throw;
                              }
                            }),
               Error);
  EXPECT_EQ(ended, 1);
}

// Only the second instance gets samples 2 and 3 of four.
TEST(Instances, ALabelThatIsNoClassInOneEndsTheOthers) {
  Images all = images(40);
  all.y.i32()[22] = 3;
  const Dataset data = Dataset::from_tensors(all.x, all.y);
  std::atomic<int> told{0};
  std::atomic<int> ended{0};
  EXPECT_THROW(on_instances(2,
                            [&](comm::Communicator&) {
                              Model model = spread(small_cnn(), {.accumulation = 1});
                              try {
                                model.fit(data, {.batch_size = 2, .shuffle = false, .verbose = 0});
                              } catch (const InvalidArgument&) {
                                ++told;
                                throw;
                              } catch (const CommError&) {
                                ++ended;
                                throw;
                              }
                            }),
               Error);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(ended, 1);
}

TEST(Instances, GoOnWithAnotherNumberOfThem) {
  const auto fit = [](Model& model, int64_t epochs) {
    const TrainingPosition at = model.position();
    model.fit(image_data(52), {.epochs = epochs,
                               .batch_size = 2,
                               .carry_remainder = true,
                               .initial_epoch = at.epoch,
                               .initial_update = at.update,
                               .verbose = 0});
  };
  Model expected = spread(plain_cnn(), {.devices = 4, .accumulation = 2});
  fit(expected, 3);
  std::optional<TrainingState> state;
  on_instances(2, [&](comm::Communicator& self) {
    Model model = spread(plain_cnn(), {.devices = 2, .accumulation = 2});
    fit(model, 1);
    if (self.rank() == 0) state = model.training_state();
  });
  on_instances(4, [&](comm::Communicator&) {
    Model model = spread(plain_cnn(), {.accumulation = 2});
    model.restore(*state);
    fit(model, 3);
    EXPECT_LT(largest_difference(model, expected), 5e-6);
  });
}

TEST(Instances, TellHowMuchTravels) {
  on_instances(2, [](comm::Communicator& self) {
    profile::Trace trace;
    Model model = spread(small_cnn(), {.accumulation = 1});
    int64_t bytes = 0;
    const auto figures = std::make_shared<AfterExecutions>([&](FitContext& context) {
      bytes += context.exchange.bytes_sent;
      EXPECT_GE(context.exchange.exposed_seconds, 0);
    });
    FitOptions fit{.batch_size = 2, .trace = &trace, .verbose = 0};
    fit.callbacks = {figures};
    model.fit(image_data(40), fit);
    // 10 updates of 36, 4, 48 and 3 gradients, each in whole cache lines, two flags and two counts.
    EXPECT_EQ(bytes, 10 * (192 + 64 + 192 + 64 + 4 * 8));
    int64_t buckets = 0;
    for (const profile::TraceTrack* track : trace.tracks()) {
      if (track->name() == "network") buckets += static_cast<int64_t>(track->events().size());
    }
    EXPECT_EQ(buckets, 10) << self.rank();
  });
}

}  // namespace
}  // namespace pando
