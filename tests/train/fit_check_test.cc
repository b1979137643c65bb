// SPDX-License-Identifier: MIT
#include "pando/train/fit_check.h"

#include "pando/train/epoch_plan.h"
#include "tests/train/train_support.h"

namespace pando::train {
namespace {

TEST(FitCheck, NamesTheOptionThatIsWrong) {
  const auto says = [](const FitOptions& options) {
    return error_of<InvalidArgument>([&] { check_fit(image_data(8), options); });
  };
  EXPECT_SAYS(says({.batch_size = 0}), "fit: batch_size: ", "got 0");
  EXPECT_SAYS(says({.batch_size = int64_t{1} << 40}), "fit: batch_size: ", "got 1099511627776");
  EXPECT_SAYS(says({.epochs = 1, .initial_epoch = 2}), "initial_epoch 2", "epochs 1");
  EXPECT_SAYS(says({.prefetch_depth = 0}), "fit: prefetch_depth: ", "got 0");
  EXPECT_SAYS(says({.data_workers = -1}), "fit: data_workers: ", "got -1");
  EXPECT_SAYS(says({.same_batch = true}), "fit: same_batch ", "carry_remainder", "drop_remainder");
  EXPECT_SAYS(says({.carry_remainder = true, .drop_remainder = true}),
              "carry_remainder or drop_remainder", "not both");
  EXPECT_SAYS(says({.carry_remainder = true, .updates_per_epoch = -1}),
              "fit: updates_per_epoch: ", "got -1");
  EXPECT_SAYS(says({.steps_per_epoch = -2}), "fit: steps_per_epoch: ", "got -2");
  EXPECT_SAYS(says({.updates_per_epoch = 2, .drop_remainder = true}), "drop_remainder");
  EXPECT_SAYS(says({.steps_per_epoch = 2, .drop_remainder = true}), "drop_remainder");
  EXPECT_SAYS(says({.joined_epochs = 0}), "fit: joined_epochs: ", "got 0");
  EXPECT_SAYS(says({.epochs = 2, .joined_epochs = 2}), "joined_epochs = 2", "carry_remainder");
  EXPECT_SAYS(says({.epochs = 3, .carry_remainder = true, .joined_epochs = 2}),
              "joined_epochs: ", "got 2", "epochs 0 to 3");
}

TEST(FitCheck, AGlobalBatchThatIsNoNumberIsAnError) {
  const EpochShape shape{.samples = 8, .micro_batch = int64_t{1} << 62, .replicas = 4};
  EXPECT_SAYS(error_of<InvalidArgument>([&] { EpochPlan plan(shape); }), "the global batch",
              "4611686018427387904 x 4", "too large");
}

TEST(FitCheck, TakesWhatMakesSense) {
  const Dataset data = image_data(8);
  EXPECT_NO_THROW(check_fit(data, {}));
  EXPECT_NO_THROW(check_fit(data, {.epochs = 4, .carry_remainder = true, .joined_epochs = 2}));
}

TEST(FitCheck, DataWithoutEndWantTheirUpdatesCountedAndTheirOwnOrder) {
  const Dataset endless = image_data(8).repeat();
  const auto says = [&](const FitOptions& options) {
    return error_of<InvalidArgument>([&] { check_fit(endless, options); });
  };
  EXPECT_SAYS(says({}), "no end", "steps_per_epoch", "updates_per_epoch");
  EXPECT_SAYS(says({.batch_size = 0, .carry_remainder = true, .updates_per_epoch = 2}),
              "batch_size: ", "got 0");
  EXPECT_NO_THROW(check_fit(endless, {.updates_per_epoch = 2}));
  EXPECT_NO_THROW(check_fit(endless, {.steps_per_epoch = 2}));
}

TEST(FitCheck, StepsAreWholeWeightUpdates) {
  EXPECT_EQ(wanted_updates({}, 4), 0);
  EXPECT_EQ(wanted_updates({.updates_per_epoch = 3}, 4), 3);
  EXPECT_EQ(wanted_updates({.steps_per_epoch = 12}, 4), 3);
  EXPECT_EQ(wanted_updates({.updates_per_epoch = 3, .steps_per_epoch = 12}, 4), 3);
  const auto says = [](const FitOptions& options) {
    return error_of<InvalidArgument>([&] { wanted_updates(options, 4); });
  };
  EXPECT_SAYS(says({.steps_per_epoch = 10}), "steps_per_epoch", "multiple of 4", "got 10");
  EXPECT_SAYS(says({.updates_per_epoch = 2, .steps_per_epoch = 12}), "12", "3 weight updates",
              "updates_per_epoch = 2");
}

// Keras users write fit(data.repeat(), {.steps_per_epoch = n}).
TEST(FitCheck, RepeatedDataTrainLikeTheirEpochs) {
  Model plain = compiled(small_cnn(), classifier());
  plain.fit(image_data(8), {.epochs = 3, .batch_size = 4, .shuffle = false, .verbose = 0});
  Model endless = compiled(small_cnn(), classifier());
  const History history = endless.fit(
      image_data(8).repeat(), {.epochs = 3, .batch_size = 4, .steps_per_epoch = 2, .verbose = 0});
  EXPECT_EQ(history["loss"].size(), 3u);
  EXPECT_TRUE(same_weights(plain, endless));
  // Epochs that do not end with the data continue where the one before ended.
  Model three = compiled(small_cnn(), classifier());
  three.fit(image_data(8),
            {.epochs = 2, .batch_size = 4, .shuffle = false, .steps_per_epoch = 3, .verbose = 0});
  EXPECT_TRUE(same_weights(plain, three));
  // Two steps of a weight update are an accumulation.
  Model accumulating = compiled(small_cnn(), classifier());
  accumulating.set_gradient_accumulation_options({.steps_per_replica = 2});
  EXPECT_SAYS(error_of<InvalidArgument>([&] {
                accumulating.fit(image_data(8).repeat(), {.batch_size = 2, .steps_per_epoch = 3});
              }),
              "steps_per_epoch", "multiple of 2");
}

}  // namespace
}  // namespace pando::train
