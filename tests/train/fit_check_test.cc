// SPDX-License-Identifier: MIT
#include "pando/train/fit_check.h"

#include "tests/train/train_support.h"

namespace pando::train {
namespace {

TEST(FitCheck, NamesTheOptionThatIsWrong) {
  const auto says = [](const FitOptions& options) {
    return error_of<InvalidArgument>([&] { check_fit(image_data(8), options); });
  };
  EXPECT_SAYS(says({.batch_size = 0}), "fit: batch_size: ", "got 0");
  EXPECT_SAYS(says({.epochs = 1, .initial_epoch = 2}), "initial_epoch 2", "epochs 1");
  EXPECT_SAYS(says({.prefetch_depth = 0}), "fit: prefetch_depth: ", "got 0");
  EXPECT_SAYS(says({.data_workers = -1}), "fit: data_workers: ", "got -1");
  EXPECT_SAYS(says({.same_batch = true}), "fit: same_batch ", "carry_remainder", "drop_remainder");
  EXPECT_SAYS(says({.carry_remainder = true, .drop_remainder = true}),
              "carry_remainder or drop_remainder", "not both");
  EXPECT_SAYS(says({.carry_remainder = true, .updates_per_epoch = -1}),
              "fit: updates_per_epoch: ", "got -1");
  EXPECT_SAYS(says({.updates_per_epoch = 2}), "fit: updates_per_epoch = 2", "carry_remainder");
  EXPECT_SAYS(says({.joined_epochs = 0}), "fit: joined_epochs: ", "got 0");
  EXPECT_SAYS(says({.epochs = 2, .joined_epochs = 2}), "joined_epochs = 2", "carry_remainder");
  EXPECT_SAYS(says({.epochs = 3, .carry_remainder = true, .joined_epochs = 2}),
              "joined_epochs: ", "got 2", "epochs 0 to 3");
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
  EXPECT_SAYS(says({}), "without end");
  EXPECT_SAYS(says({.carry_remainder = true, .updates_per_epoch = 2}), "shuffle = false");
  EXPECT_SAYS(says({.batch_size = 0, .carry_remainder = true, .updates_per_epoch = 2}),
              "batch_size: ", "got 0");
  EXPECT_NO_THROW(
      check_fit(endless, {.shuffle = false, .carry_remainder = true, .updates_per_epoch = 2}));
}

}  // namespace
}  // namespace pando::train
