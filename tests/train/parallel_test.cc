// However a model is spread over devices, it learns the same.
#include <chrono>
#include <thread>

#include "pando/train/callbacks.h"
#include "tests/train/spread.h"

namespace pando {
namespace {

TEST(Parallel, AnyDivisionOfAGlobalBatchGivesTheSameUpdate) {
  const Model expected = trained(plain_cnn(), {.micro_batch = 16, .accumulation = 1});
  const auto expect_close = [&](const Spread& how) {
    EXPECT_LT(largest_difference(trained(plain_cnn(), how), expected), 2e-6);
  };
  expect_close({});
  expect_close({.devices = 2, .accumulation = 4});
  expect_close({.devices = 4, .accumulation = 2});
  expect_close({.devices = 8, .accumulation = 1});
  expect_close({.devices = 2, .micro_batch = 8, .accumulation = 1, .slices = 2});
  expect_close({.devices = 4, .accumulation = 4, .splits = {"join"}});
  expect_close({.accumulation = 8, .reduction = GradientReduction::running_mean});
  expect_close({.devices = 2, .accumulation = 4, .reduction = GradientReduction::running_mean});
}

void expect_same_bits(const Network& network, const std::vector<std::string>& splits, int slices) {
  const Model expected = trained(network, {.slices = slices});
  for (const PipelineSchedule schedule :
       {PipelineSchedule::grouped, PipelineSchedule::interleaved, PipelineSchedule::sequential}) {
    for (const Recomputation recomputation :
         {Recomputation::none, Recomputation::then_backward, Recomputation::interleaved}) {
      const Model found = trained(network, {.devices = static_cast<int>(splits.size()) + 1,
                                            .splits = splits,
                                            .schedule = schedule,
                                            .recomputation = recomputation,
                                            .slices = slices});
      EXPECT_TRUE(same_weights(found, expected))
          << to_string(schedule) << ", recomputation " << static_cast<int>(recomputation);
    }
  }
}

TEST(Parallel, SchedulesAndRecomputationGiveTheSameBits) {
  expect_same_bits(plain_cnn(), {"join"}, 1);
  expect_same_bits(plain_cnn(), {"second", "pool"}, 2);
}

TEST(Parallel, SoDoModelsWithBatchStatistics) {
  expect_same_bits(rich_cnn(), {"max_pooling2d"}, 1);
  expect_same_bits(rich_cnn(), {"batch_normalization", "dropout"}, 2);
}

TEST(Parallel, SoDoStagesThatShareDevices) {
  const std::vector<std::string> splits = {"second", "join", "flat"};
  const Model expected = trained(plain_cnn(), {});
  for (const std::vector<int>& mapping :
       {std::vector<int>{0, 0, 0, 0}, {0, 1, 0, 1}, {1, 1, 0, 0}}) {
    for (const PipelineSchedule schedule :
         {PipelineSchedule::grouped, PipelineSchedule::interleaved, PipelineSchedule::sequential}) {
      const Model found = trained(
          plain_cnn(), {.devices = 2, .splits = splits, .mapping = mapping, .schedule = schedule});
      // With all stages on one device there is room for two replicas.
      if (found.replicas() == 1) {
        EXPECT_TRUE(same_weights(found, expected)) << to_string(schedule);
      } else {
        EXPECT_EQ(found.replicas(), 2);
      }
    }
  }
}

TEST(Parallel, TheLengthOfAnExecutionDoesNotMatter) {
  const Model expected = trained(plain_cnn(), {.devices = 2, .accumulation = 4});
  for (const int64_t steps : {1, 3, 4, 5, 1000}) {
    EXPECT_TRUE(same_weights(
        trained(plain_cnn(), {.devices = 2, .accumulation = 4, .steps_per_execution = steps}),
        expected))
        << steps;
  }
}

// The moving statistics follow those of the whole global batch.
TEST(Parallel, MovingStatisticsDoNotDependOnTheDivision) {
  const Network network =
      Sequential({6, 6, 1}, {BatchNormalization({.momentum = 0.5, .name = "norm"}), Flatten(),
                             Dense({.units = 3, .activation = "softmax"})});
  const auto statistic = [&](const Spread& how, const char* name) {
    return trained(network, how).get_weight(name);
  };
  for (const char* name : {"norm/moving_mean", "norm/moving_variance"}) {
    const Tensor expected = statistic({.micro_batch = 16, .accumulation = 1}, name);
    for (const Spread& how : {Spread{}, Spread{.devices = 4, .accumulation = 2},
                              Spread{.devices = 2, .splits = {"flatten"}}}) {
      EXPECT_LT(difference(statistic(how, name), expected).absolute, 1e-6) << name;
    }
  }
}

// Two replicas that compute statistics together act as one with twice the micro-batch.
TEST(Parallel, StatisticsOfAGroupOfReplicas) {
  const Model expected = trained(rich_cnn(), {.micro_batch = 4, .accumulation = 4});
  const Model together = trained(
      rich_cnn(),
      {.devices = 2, .micro_batch = 2, .accumulation = 4, .replication = {.statistics_group = 2}});
  const Model apart = trained(rich_cnn(), {.devices = 2, .micro_batch = 2, .accumulation = 4});
  EXPECT_LT(largest_difference(together, expected), 2e-5);
  EXPECT_GT(largest_difference(apart, expected), 1e-3);
}

TEST(Parallel, GroupsMustDivideTheReplicas) {
  Model model = spread(rich_cnn(), {.devices = 3, .replication = {.statistics_group = 2}});
  EXPECT_SAYS(error_of([&] { model.fit(image_data(8), {.verbose = 0}); }), "statistics_group",
              "3 replicas", "got 2");
  Model pipelined = spread(
      rich_cnn(), {.devices = 4, .splits = {"flatten"}, .replication = {.statistics_group = 2}});
  EXPECT_SAYS(error_of([&] { pipelined.fit(image_data(8), {.verbose = 0}); }), "statistics_group",
              "one device per replica");
}

// Sums over replicas and accumulation act like a higher learning rate.
TEST(Parallel, SumMultipliesTheRate) {
  const auto step = [&](GradientReduction reduction, double rate) {
    const DeviceStrategy strategy({.devices = 2});
    const auto scope = strategy.scope();
    Model model(small_cnn(), {.seed = 5});
    model.set_gradient_accumulation_options({.steps_per_replica = 2, .reduction = reduction});
    model.compile(classifier(SGD({.learning_rate = rate})));
    model.fit(image_data(16), {.batch_size = 4, .shuffle = false, .verbose = 0});
    return model;
  };
  EXPECT_LT(
      largest_difference(step(GradientReduction::sum, 0.01), step(GradientReduction::mean, 0.04)),
      1e-7);
}

TEST(Parallel, EvaluationAndPredictionCountEverySampleOnce) {
  const Images data = images(13);
  Model plain = spread(plain_cnn(), {});
  const Logs expected = plain.evaluate(data.x, data.y, {.batch_size = 13});
  const Tensor rows = plain.predict(data.x, 13);
  for (const Spread& how :
       {Spread{.devices = 3}, Spread{.devices = 3, .splits = {"second", "pool"}},
        Spread{.devices = 2, .splits = {"join"}, .schedule = PipelineSchedule::sequential},
        Spread{.devices = 4, .splits = {"join"}, .pipelined_inference = false}}) {
    Model model = spread(plain_cnn(), how);
    const Logs found = model.evaluate(data.x, data.y, {.batch_size = 2});
    EXPECT_NEAR(value_of(found, "loss"), value_of(expected, "loss"), 1e-6);
    EXPECT_NEAR(value_of(found, "accuracy"), value_of(expected, "accuracy"), 1e-9);
    EXPECT_LT(difference(model.predict(data.x, 2), rows).absolute, 1e-6);
  }
}

TEST(Parallel, SoTheyDoOnAnyNumberOfReplicas) {
  const Images data = images(13);
  Model plain = spread(plain_cnn(), {});
  const Logs expected = plain.evaluate(data.x, data.y, {.batch_size = 13});
  const Tensor rows = plain.predict(data.x, 13);
  const auto expect_same = [&](const Spread& how) {
    Model model = spread(plain_cnn(), how);
    const Logs found = model.evaluate(data.x, data.y, {.batch_size = 2});
    EXPECT_NEAR(value_of(found, "loss"), value_of(expected, "loss"), 1e-6);
    EXPECT_NEAR(value_of(found, "accuracy"), value_of(expected, "accuracy"), 1e-9);
    EXPECT_LT(difference(model.predict(data.x, 2), rows).absolute, 1e-6);
  };
  for (const int replicas : {1, 2, 3, 4}) {
    expect_same({.devices = 4, .replication = {.inference_replicas = replicas}});
  }
  for (const int replicas : {1, 2}) {
    const ReplicationOptions replication{.inference_replicas = replicas};
    expect_same({.devices = 4, .splits = {"join"}, .replication = replication});
  }
  expect_same({.devices = 4,
               .splits = {"join"},
               .replication = {.inference_replicas = 3},
               .pipelined_inference = false});
}

TEST(Parallel, AnEvaluationTellsHowFarItIs) {
  Model model = spread(small_cnn(), {.devices = 2});
  std::vector<int64_t> done;
  Logs last;
  const auto tell = [&](int64_t batches, const Logs& logs) {
    done.push_back(batches);
    last = logs;
  };
  const Logs logs = model.evaluate(
      image_data(13), {.batch_size = 2, .steps_per_execution = 2, .on_execution_end = tell});
  EXPECT_EQ(done, (std::vector<int64_t>{4, 7}));
  EXPECT_EQ(last, logs);
  const auto leave = [](int64_t, const Logs&) { throw Unsupported("enough"); };
  EXPECT_EQ(error_of<Unsupported>([&] {
              model.evaluate(image_data(13), {.batch_size = 2, .on_execution_end = leave});
            }),
            "enough");
}

// With 13 samples in batches of 2, replica r of R has the batches r, r + R, ...
TEST(Parallel, TheReplicasOfAnEvaluationAreThoseAskedFor) {
  for (const int replicas : {1, 3}) {
    Model model =
        spread(small_cnn(),
               {.devices = 4,
                .replication = {.metrics = MetricReduction::list, .inference_replicas = replicas}});
    const Logs logs = model.evaluate(image_data(13), {.batch_size = 2});
    EXPECT_EQ(logs.size(), static_cast<size_t>(2 * replicas));
    EXPECT_EQ(model.replicas(), 4);
  }
}

TEST(Parallel, TooManyReplicasOfAnEvaluationAreRefused) {
  Model model = spread(
      plain_cnn(), {.devices = 4, .splits = {"join"}, .replication = {.inference_replicas = 3}});
  const std::string error = error_of([&] { model.evaluate(image_data(4)); });
  EXPECT_SAYS(error, "inference_replicas: ", "at most 2", "4 devices", "got 3");
  EXPECT_SAYS(error_of([&] { model.set_replication_options({.inference_replicas = -1}); }),
              "inference_replicas: ", "got -1");
}

TEST(Parallel, MetricsOfReplicas) {
  const auto logs = [&](MetricReduction reduction) {
    Model model = spread(small_cnn(), {.devices = 2, .replication = {.metrics = reduction}});
    return model.evaluate(image_data(10), {.batch_size = 2});
  };
  // Replica 0 has samples 0 1 4 5 8 9, replica 1 has 2 3 6 7.
  const Logs list = logs(MetricReduction::list);
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].first, "loss[0]");
  EXPECT_EQ(list[3].first, "accuracy[1]");
  const double first = value_of(list, "loss[0]");
  const double second = value_of(list, "loss[1]");
  EXPECT_NEAR(value_of(logs(MetricReduction::mean), "loss"), (6 * first + 4 * second) / 10, 1e-9);
  EXPECT_NEAR(value_of(logs(MetricReduction::sum), "loss"), first + second, 1e-9);
  EXPECT_EQ(value_of(logs(MetricReduction::none), "loss"), second);
}

TEST(Parallel, PredictionOfADataSetIsInItsOrderAndShowsItsBatches) {
  const Images data = images(13);
  Model model = spread(plain_cnn(), {.devices = 3});
  std::vector<int32_t> labels;
  const Tensor found =
      model.predict(Dataset::from_tensors(data.x, data.y),
                    {.batch_size = 2, .observe = [&](const Batch& batch) {
                       const auto seen = batch.y().i32();
                       labels.insert(labels.end(), seen.begin(), seen.begin() + batch.valid);
                     }});
  EXPECT_EQ(found.shape(), Shape({13, 3}));
  EXPECT_LT(difference(found, model.predict(data.x, 13)).absolute, 1e-6);
  EXPECT_EQ(labels, std::vector<int32_t>(data.y.i32().begin(), data.y.i32().end()));
  EXPECT_SAYS(error_of([&] { model.predict(image_data(4), {.batch_size = 0}); }),
              "predict: batch_size: ", "got 0");
}

TEST(Parallel, OutfeedHasTheLastStepOrAll) {
  for (const OutfeedMode mode : {OutfeedMode::last, OutfeedMode::all}) {
    Model model = spread(small_cnn(), {.devices = 2, .accumulation = 2, .steps_per_execution = 4});
    std::vector<int64_t> steps;
    std::vector<int> replicas;
    const auto callback = LambdaCallback({.execution_end = [&](FitContext& context, const Logs&) {
      for (const StepValues& values : *context.outfeed) {
        steps.push_back(values.step);
        replicas.push_back(values.replica);
        EXPECT_GT(value_of(values.logs, "loss"), 0);
      }
    }});
    model.fit(image_data(24),
              {.batch_size = 2, .outfeed = mode, .callbacks = {callback}, .verbose = 0});
    if (mode == OutfeedMode::last) {
      EXPECT_EQ(steps, (std::vector<int64_t>{3, 3, 5, 5}));
    } else {
      EXPECT_EQ(steps, (std::vector<int64_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
    }
    EXPECT_EQ(replicas[0], 0);
    EXPECT_EQ(replicas[1], 1);
  }
}

TEST(Parallel, AsynchronousCallbacksSeeEveryStep) {
  Model model = spread(small_cnn(), {.devices = 2, .accumulation = 1, .steps_per_execution = 100});
  std::vector<int64_t> steps;
  double loss = 0;
  const std::thread::id host = std::this_thread::get_id();
  const auto callback = LambdaCallback({.step_end = [&](FitContext& context, const Logs& logs) {
    EXPECT_NE(std::this_thread::get_id(), host);
    steps.push_back(context.step);
    loss += value_of(logs, "loss");
  }});
  const History history = model.fit(
      image_data(40),
      {.batch_size = 4, .asynchronous_callbacks = true, .callbacks = {callback}, .verbose = 0});
  EXPECT_EQ(steps, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_NEAR(loss / 5, history["loss"][0], 1e-9);
}

// A thread that was joined stays in the list for a moment.
size_t threads_of_process() {
  const auto count = [] {
    const auto tasks = std::filesystem::directory_iterator("/proc/self/task");
    return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
  };
  size_t threads = count();
  for (int quiet = 0; quiet < 5;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const size_t now = count();
    quiet = now == threads ? quiet + 1 : 0;
    threads = now;
  }
  return threads;
}

TEST(Parallel, AnExceptionOfAnAsynchronousCallbackReachesTheCaller) {
  const size_t before = threads_of_process();
  {
    Model model = spread(small_cnn(), {.devices = 2, .accumulation = 1});
    const auto callback = LambdaCallback(
        {.step_end = [&](FitContext&, const Logs&) { throw IoError("the log is full"); }});
    EXPECT_THROW(model.fit(image_data(400), {.batch_size = 2,
                                             .asynchronous_callbacks = true,
                                             .callbacks = {callback},
                                             .verbose = 0}),
                 IoError);
    model.fit(image_data(8), {.batch_size = 2, .verbose = 0});  // and can continue
  }
  EXPECT_LE(threads_of_process(), before);
}

TEST(Parallel, BadDataStopsAllDevicesAndReachesTheCaller) {
  const size_t before = threads_of_process();
  {
    Model model = spread(
        small_cnn(), {.devices = 3, .accumulation = 2, .splits = {"flatten"}, .mapping = {0, 1}});
    const Images good = images(40);
    const Dataset bad = Dataset::from_tensors(good.x, good.y).map([](Sample sample) {
      thread_local int count = 0;
      if (++count == 25) throw IoError("sample 24 is damaged");
      return sample;
    });
    EXPECT_THROW(model.fit(bad, {.batch_size = 2, .shuffle = false, .verbose = 0}), IoError);
    model.fit(image_data(8), {.batch_size = 2, .verbose = 0});
  }
  EXPECT_LE(threads_of_process(), before);
}

TEST(Parallel, AStopEndsAfterTheWeightUpdateInProgress) {
  Model model = spread(small_cnn(), {.devices = 2, .accumulation = 2, .steps_per_execution = 1000});
  std::atomic<bool> stop{false};
  int64_t seen = 0;
  const auto callback =
      LambdaCallback({.step_end = [&](FitContext&, const Logs&) { stop = true; }});
  const auto counter =
      LambdaCallback({.epoch_end = [&](FitContext& context, const Logs&) { seen = context.step; }});
  model.fit(image_data(4000), {.batch_size = 2,
                               .asynchronous_callbacks = true,
                               .stop = &stop,
                               .callbacks = {callback, counter},
                               .verbose = 0});
  EXPECT_GT(seen, 0);
  EXPECT_EQ(seen % 4, 0);  // whole updates: 2 replicas x 2 micro-batches
}

TEST(Parallel, AStopBetweenEpochsLeavesNoEmptyEpoch) {
  Model model = spread(small_cnn(), {.devices = 2, .accumulation = 2});
  std::atomic<bool> stop{false};
  int ends = 0;
  const auto callback = LambdaCallback({.epoch_end = [&](FitContext&, const Logs&) {
    ++ends;
    stop = true;
  }});
  const History history = model.fit(
      image_data(16),
      {.epochs = 3, .batch_size = 2, .stop = &stop, .callbacks = {callback}, .verbose = 0});
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(history.epoch.size(), 1u);
}

TEST(Parallel, ReplicasWithoutSamplesTellNothing) {
  const auto logs = [&](MetricReduction reduction) {
    Model model = spread(small_cnn(), {.devices = 2, .replication = {.metrics = reduction}});
    return model.evaluate(image_data(2), {.batch_size = 2});  // one micro-batch for two replicas
  };
  const double expected = value_of(logs(MetricReduction::mean), "loss");
  EXPECT_EQ(value_of(logs(MetricReduction::none), "loss"), expected);
  EXPECT_EQ(value_of(logs(MetricReduction::sum), "loss"), expected);
  EXPECT_EQ(logs(MetricReduction::list).size(), 2u);
}

TEST(Parallel, DroppingEverythingIsAnError) {
  Model model = spread(small_cnn(), {.devices = 2});
  EXPECT_THROW(model.evaluate(image_data(3), {.batch_size = 2, .drop_remainder = true}),
               InvalidArgument);
  EXPECT_THROW(model.evaluate(image_data(4), {.batch_size = 2, .steps_per_execution = -1}),
               InvalidArgument);
  EXPECT_THROW(model.fit(image_data(4), {.carry_remainder = true, .updates_per_epoch = -1}),
               InvalidArgument);
}

// Weight updates before a failure count, because they are in the weights.
TEST(Parallel, UpdatesBeforeAFailureCount) {
  Model model = spread(small_cnn(), {.accumulation = 1});
  const Images good = images(40);
  int reads = 0;
  const Dataset bad = Dataset::from_tensors(good.x, good.y).map([&](Sample sample) {
    if (++reads > 21) throw IoError("the disk is gone");  // sample 0 is read for its type
    return sample;
  });
  EXPECT_THROW(model.fit(bad, {.batch_size = 2, .shuffle = false, .verbose = 0}), IoError);
  int64_t updates = 0;
  const auto callback = LambdaCallback(
      {.execution_end = [&](FitContext& context, const Logs&) { updates = context.updates; }});
  model.fit(image_data(2), {.batch_size = 2, .callbacks = {callback}, .verbose = 0});
  EXPECT_EQ(updates, 10 + 1);
}

TEST(Parallel, StrategiesAreChecked) {
  EXPECT_THROW(DeviceStrategy({.devices = 0}), InvalidArgument);
  EXPECT_THROW(DeviceStrategy({.cores_per_device = -1}), InvalidArgument);
  EXPECT_THROW(DeviceStrategy({.memory_per_device = -1}), InvalidArgument);
  Model model = spread(plain_cnn(), {.devices = 2, .splits = {"second", "pool"}});
  EXPECT_SAYS(error_of([&] { model.fit(image_data(8), {.verbose = 0}); }), "3 devices", "got 2",
              "device_mapping");
  EXPECT_THROW(model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 0}),
               InvalidArgument);
  EXPECT_THROW(model.set_pipelining_options({.device_mapping = {0, 1}}), InvalidArgument);
  EXPECT_THROW(model.set_gradient_accumulation_options({.steps_per_replica = 0}), InvalidArgument);
  EXPECT_THROW(model.set_replication_options({.statistics_group = 0}), InvalidArgument);
}

TEST(Parallel, ScopesNest) {
  EXPECT_EQ(DeviceStrategy::current(), nullptr);
  const DeviceStrategy outer({.devices = 2});
  {
    const auto outer_scope = outer.scope();
    {
      const auto inner_scope = DeviceStrategy({.devices = 3}).scope();
      EXPECT_EQ(DeviceStrategy::current()->devices, 3);
    }
    EXPECT_EQ(Model(small_cnn()).replicas(), 2);
  }
  EXPECT_EQ(DeviceStrategy::current(), nullptr);
}

TEST(Parallel, AProgramThatDoesNotFitIsRefused) {
  const DeviceStrategy strategy({.memory_per_device = 10000});
  const auto scope = strategy.scope();
  Model model(small_cnn());
  model.compile(classifier());
  std::string error;
  try {
    model.fit(image_data(64), {.verbose = 0});
  } catch (const ResourceError& refusal) {
    error = refusal.what();
  }
  EXPECT_NE(error.find("the budget is 9.8 KiB"), std::string::npos) << error;
  EXPECT_NE(error.find("working"), std::string::npos);
  EXPECT_NE(error.find("a smaller micro-batch"), std::string::npos);
}

}  // namespace
}  // namespace pando
