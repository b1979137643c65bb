// A run that is interrupted and continues from its state has the bits of an uninterrupted one.
// SPDX-License-Identifier: MIT
#include "pando/train/training_state.h"

#include <fstream>

#include "pando/train/callbacks.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

constexpr int64_t kSamples = 44;  // 5 whole batches of 8 and half of one

Model make_model(Optimizer optimizer = Adam(), uint64_t seed = 3) {
  return compiled(rich_cnn(), classifier(std::move(optimizer), {.threads = 1, .slices = 2}), seed);
}

// Its learning rate is different in every update.
Optimizer scheduled_adam() {
  const LearningRate rate = CosineDecay({.initial_learning_rate = 0.01, .decay_updates = 16});
  return regularized(Adam({.learning_rate = rate}), {.weight_decay = 0.1, .l2 = 0.001});
}

FitOptions fit_options() { return {.epochs = 3, .batch_size = 8, .verbose = 0}; }

// Ends the fit when its position is reached.
std::shared_ptr<Callback> stop_at(TrainingPosition position) {
  return LambdaCallback({.execution_end = [position](FitContext& context, const Logs&) {
    context.stop = context.model->position() == position;
  }});
}

class Resume : public testing::TestWithParam<FitOptions> {
 protected:
  // The weights of a run that was interrupted, saved and loaded at `position`.
  std::vector<Tensor> broken(TrainingPosition position) const {
    const std::string path = folder_.path("state.h5");
    FitOptions options = GetParam();
    options.updates_per_execution = [](TrainingPosition) { return 1; };
    options.callbacks = {stop_at(position)};
    Model before = make_model(scheduled_adam());
    before.fit(image_data(kSamples), options);
    EXPECT_EQ(before.position(), position);
    save_training_state(path, before.training_state());

    Model after = make_model(scheduled_adam());
    after.fit(image_data(kSamples, 9), {.batch_size = 8, .verbose = 0});  // leaves no trace
    const TrainingState state = load_training_state(path);
    EXPECT_EQ(state.position, position);
    after.restore(state);
    FitOptions rest = GetParam();
    rest.initial_epoch = state.position.epoch;
    rest.initial_update = state.position.update;
    after.fit(image_data(kSamples), rest);
    return after.get_weights();
  }

  testing_support::TempFolder folder_;
};

TEST_P(Resume, AnywhereGivesTheSameBits) {
  Model whole = make_model(scheduled_adam());
  whole.fit(image_data(kSamples), GetParam());
  for (const TrainingPosition position : {TrainingPosition{0, 1}, {1, 0}, {1, 3}, {2, 4}}) {
    EXPECT_TRUE(same_bits(broken(position), whole.get_weights()))
        << position.epoch << " " << position.update;
  }
}

FitOptions with(FitOptions options, bool carry, bool drop, bool same) {
  options.carry_remainder = carry;
  options.drop_remainder = drop;
  options.same_batch = same;
  return options;
}

INSTANTIATE_TEST_SUITE_P(Remainders, Resume,
                         testing::Values(fit_options(), with(fit_options(), true, false, false),
                                         with(fit_options(), false, true, false),
                                         with(fit_options(), true, false, true)));

TEST(TrainingState, AnotherPlaceGivesOtherBits) {
  Model whole = make_model();
  whole.fit(image_data(kSamples), fit_options());
  Model other = make_model();
  FitOptions options = fit_options();
  options.callbacks = {stop_at({1, 3})};
  options.updates_per_execution = [](TrainingPosition) { return 1; };
  other.fit(image_data(kSamples), options);
  TrainingState state = other.training_state();
  other.restore(state);
  options.callbacks = {};
  options.initial_epoch = 1;
  options.initial_update = 2;  // one update is made twice
  other.fit(image_data(kSamples), options);
  EXPECT_FALSE(same_bits(other.get_weights(), whole.get_weights()));
}

TEST(TrainingState, AFitAfterAFitGoesOnToNewOrders) {
  const FitOptions one{.batch_size = 8, .carry_remainder = true, .verbose = 0};
  Model whole = make_model();
  for (int i = 0; i < 3; ++i) whole.fit(image_data(kSamples), one);
  Model before = make_model();
  for (int i = 0; i < 2; ++i) before.fit(image_data(kSamples), one);
  const TrainingState state = before.training_state();
  EXPECT_EQ(state.position, (TrainingPosition{1, 0}));
  EXPECT_EQ(state.data_epoch, 2);
  Model after = make_model();
  after.restore(state);
  after.fit(image_data(kSamples), one);
  EXPECT_TRUE(same_bits(after.get_weights(), whole.get_weights()));
}

TEST(TrainingState, BeforeTheFirstUpdateIsAState) {
  Model model = make_model();
  const TrainingState fresh = model.training_state();
  EXPECT_TRUE(fresh.weights.state.empty());
  model.fit(image_data(kSamples), fit_options());
  const std::vector<Tensor> trained = model.get_weights();
  model.restore(fresh);
  model.fit(image_data(kSamples), fit_options());
  EXPECT_TRUE(same_bits(model.get_weights(), trained));
}

TEST(TrainingState, JoinedEpochsAreTheSameTraining) {
  FitOptions options{.epochs = 4, .batch_size = 8, .carry_remainder = true, .verbose = 0};
  Model apart = make_model();
  apart.fit(image_data(kSamples), options);
  options.joined_epochs = 2;
  int64_t executions = 0;
  options.updates_per_execution = [](TrainingPosition) { return 1000; };
  options.callbacks = {
      LambdaCallback({.execution_end = [&](FitContext&, const Logs&) { ++executions; }})};
  Model joined = make_model();
  const History history = joined.fit(image_data(kSamples), options);
  EXPECT_TRUE(same_bits(joined.get_weights(), apart.get_weights()));
  EXPECT_EQ(executions, 2);
  EXPECT_EQ(history.epoch, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(joined.position(), (TrainingPosition{4, 0}));
}

TEST(TrainingState, JoinedEpochsGoOnFromWithin) {
  FitOptions options{.epochs = 4, .batch_size = 8, .carry_remainder = true, .verbose = 0};
  Model whole = make_model();
  whole.fit(image_data(kSamples), options);
  options.joined_epochs = 4;
  options.updates_per_execution = [](TrainingPosition) { return 1; };
  options.callbacks = {stop_at({2, 1})};
  Model before = make_model();
  before.fit(image_data(kSamples), options);
  const TrainingState state = before.training_state();
  EXPECT_EQ(state.position, (TrainingPosition{2, 1}));
  Model after = make_model();
  after.restore(state);
  int64_t updates = 0;
  options.callbacks = {
      LambdaCallback({.train_begin = [&](FitContext& context) { updates = context.updates; }})};
  options.initial_update = state.iteration;
  after.fit(image_data(kSamples), options);
  EXPECT_TRUE(same_bits(after.get_weights(), whole.get_weights()));
  EXPECT_EQ(updates, state.iteration);
}

TEST(TrainingState, JoinedEpochsAreNamedFromTheFirstToTheLast) {
  FitOptions options{.epochs = 4, .batch_size = 8, .carry_remainder = true, .verbose = 2};
  options.joined_epochs = 2;
  testing::internal::CaptureStdout();
  make_model().fit(image_data(kSamples), options);
  const std::string whole = testing::internal::GetCapturedStdout();
  EXPECT_SAYS(whole, "Epochs 1-2/4\n");
  EXPECT_SAYS(whole, "Epochs 3-4/4\n");
  options.initial_update = 7;  // of 11
  testing::internal::CaptureStdout();
  make_model().fit(image_data(kSamples), options);
  EXPECT_SAYS(testing::internal::GetCapturedStdout(), "Epoch 2/4\n");
}

// The loss of an epoch, which early stopping compares, includes the samples before the break.
TEST(TrainingState, AResumedEpochHasTheLossOfAllItsSamples) {
  const testing_support::TempFolder folder;
  FitOptions options{.epochs = 2, .batch_size = 4, .verbose = 0};
  const History whole = make_model().fit(image_data(kSamples), options);
  std::atomic<bool> stop = false;
  Model before = make_model();
  FitOptions part = options;
  part.stop = &stop;
  part.callbacks = {LambdaCallback({.execution_end = [&](FitContext& context, const Logs&) {
    stop = context.epoch == 1 && context.step >= 5;
  }})};
  before.fit(image_data(kSamples), part);
  save_training_state(folder.path("a.h5"), before.training_state());
  const TrainingState state = load_training_state(folder.path("a.h5"));
  EXPECT_EQ(state.position.epoch, 1);
  EXPECT_GT(state.position.update, 0);
  ASSERT_EQ(state.epoch_sums.size(), 2u);  // of all replicas and of the only one
  Model after = make_model();
  after.restore(state);
  options.initial_epoch = 1;
  options.initial_update = state.position.update;
  EXPECT_EQ(after.fit(image_data(kSamples), options)["loss"][0], whole["loss"][1]);
  EXPECT_TRUE(after.training_state().epoch_sums.empty());
}

TEST(TrainingState, SumsKeepEveryDigit) {
  const testing_support::TempFolder folder;
  TrainingState state = make_model().training_state();
  runtime::Totals totals{.samples = 3, .loss = 1e10 / 3};
  totals.loss += 1e-9 / 3;
  totals.metrics = {totals.loss};
  state.epoch_sums = {totals, totals};
  save_training_state(folder.path("a.h5"), state);
  const TrainingState loaded = load_training_state(folder.path("a.h5"));
  ASSERT_EQ(loaded.epoch_sums.size(), 2u);
  EXPECT_NE(totals.loss.low(), 0);
  for (const runtime::Totals& sums : loaded.epoch_sums) {
    EXPECT_EQ(sums.numbers(), totals.numbers());
  }
}

TEST(TrainingState, AnExecutionThatBeginsBetweenTwoEndsWhereTheyWould) {
  FitOptions options{.epochs = 1, .batch_size = 4, .carry_remainder = true, .verbose = 0};
  options.initial_update = 2;  // of 11
  std::vector<int64_t> ends;
  options.callbacks = {LambdaCallback(
      {.execution_end = [&](FitContext& context, const Logs&) { ends.push_back(context.step); }})};
  CompileOptions compiling = classifier();
  compiling.steps_per_execution = 5;
  Model model = compiled(small_cnn(), std::move(compiling));
  model.fit(image_data(kSamples), options);
  EXPECT_EQ(ends, (std::vector<int64_t>{5, 10, 11}));
}

TEST(TrainingState, NotesAndSeedComeBack) {
  const testing_support::TempFolder folder;
  Model model = make_model(SGD(), 0xffffffffffffffff);
  TrainingState state = model.training_state();
  state.notes = {{"global_batch", "64"}, {"words", "a b"}};
  save_training_state(folder.path("a.h5"), state);
  const TrainingState loaded = load_training_state(folder.path("a.h5"));
  EXPECT_EQ(loaded.notes, state.notes);
  EXPECT_EQ(loaded.seed, 0xffffffffffffffff);
  EXPECT_EQ(loaded.optimizer, "sgd");
}

TEST(TrainingState, WhatDoesNotFitChangesNothing) {
  Model model = make_model();
  model.fit(image_data(kSamples), {.batch_size = 8, .verbose = 0});
  const std::vector<Tensor> weights = model.get_weights();
  const auto says = [&](const TrainingState& state) {
    return error_of<InvalidArgument>([&] { model.restore(state); });
  };
  EXPECT_SAYS(says(make_model(SGD()).training_state()), "optimizer sgd, the model has adam");
  EXPECT_SAYS(says(make_model(Adam(), 4).training_state()), "seed 4, the model has 3");
  TrainingState state = model.training_state();
  state.weights.path = "x.h5";
  state.weights.state.pop_back();
  EXPECT_SAYS(says(state), "state of x.h5 does not fit model 'model': it has no");
  state = model.training_state();
  state.weights.state[0].value = Tensor(DType::f32, {2});
  EXPECT_SAYS(says(state), "expected f32[", "got f32[2]");
  state = model.training_state();
  state.weights.layers.pop_back();
  says(state);
  EXPECT_TRUE(same_bits(model.get_weights(), weights));
  Model fresh(rich_cnn(), {.seed = 3});
  EXPECT_SAYS(error_of<InvalidArgument>([&] { fresh.restore(state); }), "not compiled");
}

TEST(TrainingState, DamagedFilesAndFilesWithoutStateAreRefused) {
  const testing_support::TempFolder folder;
  const std::string path = folder.path("a.h5");
  const Model model = make_model();
  const auto says = [&] { return error_of<IoError>([&] { load_training_state(path); }); };
  EXPECT_SAYS(says(), path);
  model.save_weights(path);
  EXPECT_SAYS(says(), "only weights");
  save_training_state(path, model.training_state());
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size - 24);  // the seal
  EXPECT_SAYS(says(), "no seal");
  TrainingState state = model.training_state();
  state.weights.attributes["pando_epoch"] = "1";
  save_training_state(path, state);  // replaces the damaged file
  EXPECT_EQ(load_training_state(path).position.epoch, 0);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size / 2));
  file.put('\x55').put('\xaa');
  file.close();
  says();
}

TEST(TrainingState, NumbersOfAnAttributeAreChecked) {
  const testing_support::TempFolder folder;
  const std::string path = folder.path("a.h5");
  store::WeightsFile file = make_model().training_state().weights;
  for (const char* name : {"pando_optimizer", "pando_epoch", "pando_update", "pando_iteration",
                           "pando_data_epoch", "pando_seed"}) {
    file.attributes[name] = "1";
  }
  file.attributes["pando_update"] = "-1";
  store::write_weights_file(path, file);
  EXPECT_SAYS(error_of<IoError>([&] { load_training_state(path); }), "'pando_update'",
              "whole number", "got '-1'");
}

TEST(TrainingState, FitChecksWhereItBegins) {
  Model model = make_model();
  const auto says = [&](const FitOptions& options) {
    return error_of<InvalidArgument>([&] { model.fit(image_data(kSamples), options); });
  };
  EXPECT_SAYS(says({.batch_size = 8, .initial_update = 6, .verbose = 0}),
              "initial_update: ", "6 weight updates", "got 6");
  EXPECT_SAYS(says({.batch_size = 8, .initial_update = -1, .verbose = 0}),
              "initial_update: ", "got -1");
  EXPECT_SAYS(says({.joined_epochs = 0, .verbose = 0}), "joined_epochs: ", "got 0");
  EXPECT_SAYS(says({.epochs = 2, .joined_epochs = 2, .verbose = 0}), "carry_remainder");
  EXPECT_SAYS(says({.epochs = 3, .carry_remainder = true, .joined_epochs = 2, .verbose = 0}),
              "got 2", "epochs 0 to 3");
}

}  // namespace
}  // namespace pando
