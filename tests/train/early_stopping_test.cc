#include "pando/train/early_stopping.h"

#include <cmath>
#include <map>

#include "pando/train/callbacks.h"
#include "tests/support/expect_error.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

using testing_support::error_of;

// The epoch, from 1, after which these values end a fit; 0: they do not.
int64_t stops_after(EarlyStoppingOptions options, const std::vector<double>& values,
                    std::string* told = nullptr) {
  options.tell = [&](const std::string& line) {
    if (told != nullptr) *told += line;
  };
  const std::string name = options.monitor;
  const std::shared_ptr<Callback> callback = EarlyStopping(std::move(options));
  FitContext context{.epochs = static_cast<int64_t>(values.size())};
  callback->on_train_begin(context);
  for (const double value : values) {
    callback->on_epoch_end(context, {{"other", 1.0}, {name, value}});
    if (context.stop) return context.epoch + 1;
    ++context.epoch;
  }
  return 0;
}

TEST(EarlyStopping, WithoutPatienceTheFirstWorseEpochEndsIt) {
  EXPECT_EQ(stops_after({}, {3, 2, 1, 1, 0}), 4);
  EXPECT_EQ(stops_after({}, {3, 2, 1}), 0);
}

TEST(EarlyStopping, PatienceCountsEpochsInARow) {
  EXPECT_EQ(stops_after({.patience = 2}, {3, 4, 2, 3, 3}), 5);
  EXPECT_EQ(stops_after({.patience = 3}, {3, 4, 2, 3, 3}), 0);
}

TEST(EarlyStopping, AccuraciesGetBetterUpwardsUnlessSaidOtherwise) {
  EXPECT_EQ(stops_after({.monitor = "val_accuracy"}, {0.1, 0.2, 0.1}), 3);
  EXPECT_EQ(stops_after({.monitor = "val_accuracy"}, {0.3, 0.2}), 2);
  EXPECT_EQ(stops_after({.monitor = "val_accuracy", .mode = MonitorMode::min}, {0.3, 0.2}), 0);
  EXPECT_EQ(stops_after({.monitor = "loss", .mode = MonitorMode::max}, {0.3, 0.2}), 2);
}

TEST(EarlyStopping, EveryMetricHasItsDirection) {
  const std::map<std::string, bool> upwards = {
      {"accuracy", true},  {"top_k_categorical_accuracy", true},
      {"precision", true}, {"recall", true},
      {"f1_score", true},  {"mean_iou", true},
      {"auc", true},       {"r2_score", true},
      {"mse", false},      {"mean_squared_error", false},
      {"mae", false},      {"mean_absolute_error", false}};
  for (const std::string& metric : metric_names()) {
    ASSERT_TRUE(upwards.contains(metric)) << metric << ": say which way is better";
    for (const char* before : {"", "val_", "kind_", "val_kind_weighted_"}) {
      const std::string monitor = before + metric;
      const bool up = upwards.at(metric);
      EXPECT_EQ(stops_after({.monitor = monitor}, {0.1, 0.2}), up ? 0 : 2) << monitor;
      EXPECT_EQ(stops_after({.monitor = monitor}, {0.2, 0.1}), up ? 2 : 0) << monitor;
    }
  }
  for (const char* loss : {"loss", "val_loss", "val_kind_loss", "precision_loss"}) {
    EXPECT_EQ(stops_after({.monitor = loss}, {0.2, 0.1}), 0) << loss;
  }
  EXPECT_EQ(stops_after({.monitor = TopKAccuracy(3).name()}, {0.1, 0.2}), 0);
  EXPECT_EQ(stops_after({.monitor = "val_my_score"}, {0.1, 0.2}), 0);
}

TEST(EarlyStopping, SmallImprovementsAreNone) {
  EXPECT_EQ(stops_after({.min_delta = 0.5}, {3, 2.75, 2}), 2);
  EXPECT_EQ(stops_after({.min_delta = 0.5}, {3, 2.25, 1.5}), 0);
  EXPECT_EQ(stops_after({.monitor = "accuracy", .min_delta = 0.1}, {0.5, 0.55}), 2);
}

TEST(EarlyStopping, ImprovementsBelowTheBaselineDoNotRestartTheCount) {
  EXPECT_EQ(stops_after({.patience = 2, .baseline = 1.0}, {4, 3, 2, 2.5}), 4);
  EXPECT_EQ(stops_after({.patience = 2}, {4, 3, 2, 2.5}), 0);
  EXPECT_EQ(stops_after({.patience = 3, .baseline = 2.5}, {4, 3, 2, 1}), 0);
}

TEST(EarlyStopping, WhatIsNotANumberIsNoImprovement) {
  const double nan = std::nan("");
  EXPECT_EQ(stops_after({.patience = 1}, {2, nan, 1}), 2);
  EXPECT_EQ(stops_after({}, {nan, 1, 0.5}), 0);  // as in Keras, never in the first epoch
}

TEST(EarlyStopping, SaysWhenAndWhy) {
  std::string told;
  stops_after({.patience = 1}, {3, 2, 2.5}, &told);
  EXPECT_SAYS(told, "early stopping", "epoch 3", "val_loss was 2.5", "best was 2", "epoch 2");
}

TEST(EarlyStopping, GoesOnWithWhatItSawBefore) {
  EXPECT_EQ(stops_after({.patience = 2, .earlier = {{0, 1.0}, {1, 2.0}}}, {2, 2}), 2);
  EXPECT_EQ(stops_after({.patience = 2}, {2, 2}), 0);
}

TEST(EarlyStopping, RefusesNegativeNumbers) {
  EXPECT_SAYS(error_of([] { EarlyStopping({.patience = -1}); }), "patience: ", "got -1");
  EXPECT_SAYS(error_of([] { EarlyStopping({.min_delta = -0.5}); }), "min_delta: ", "got -0.5");
  EXPECT_SAYS(error_of([] { EarlyStopping({.min_delta = std::nan("")}); }),
              "min_delta: ", "got nan");
}

FitOptions fit_with(const EarlyStoppingOptions& options) {
  return {.epochs = 6, .batch_size = 4, .callbacks = {EarlyStopping(options)}, .verbose = 0};
}

TEST(EarlyStopping, AFigureThatIsNotThereEndsTheFitAtOnce) {
  const std::string error = error_of([] {
    compiled(small_cnn(), classifier()).fit(image_data(8), fit_with({.monitor = "val_acuracy"}));
  });
  EXPECT_SAYS(error, "unknown figure 'val_acuracy'; did you mean 'val_accuracy'?");
  EXPECT_SAYS(error, "known: val_accuracy, accuracy, val_loss, loss");
  EXPECT_SAYS(
      error_of([] { compiled(small_cnn(), classifier()).fit(image_data(8), fit_with({})); }),
      "unknown figure 'val_loss'");
}

// A rate that is far too high after the second epoch makes the rest worse.
std::shared_ptr<Callback> spoil_after(int64_t epochs) {
  return LambdaCallback({.epoch_begin = [epochs](FitContext& context) {
    if (context.epoch == epochs) context.model->set_learning_rate(30);
  }});
}

TEST(EarlyStopping, TheBestWeightsComeBack) {
  const Dataset data = image_data(24);
  int saved = 0;
  const auto fit = [&](Model& model, int64_t epochs, bool restore, std::string* told) {
    FitOptions options =
        fit_with({.monitor = "val_loss",
                  .patience = 2,
                  .restore_best = restore,
                  .at_best =
                      [&](Model&, int64_t epoch) {
                        EXPECT_EQ(epoch, 1);
                        ++saved;
                      },
                  .tell = [told](const std::string& line) { *told += line + "\n"; }});
    options.epochs = epochs;
    options.validation_data = data;
    options.callbacks.push_back(spoil_after(2));
    return model.fit(data, options);
  };
  std::string told;
  Model best = compiled(small_cnn(), classifier());
  fit(best, 2, false, &told);
  Model stopped = compiled(small_cnn(), classifier());
  const History history = fit(stopped, 6, true, &told);
  EXPECT_EQ(history.epoch.size(), 4u);
  EXPECT_TRUE(same_bits(stopped.get_weights(), best.get_weights()));
  EXPECT_SAYS(told, "early stopping after epoch 4");
  EXPECT_SAYS(told, "weights of epoch 2\n");
  Model whole = compiled(small_cnn(), classifier());
  fit(whole, 3, true, &told);  // the patience lasts until the end
  EXPECT_TRUE(same_bits(whole.get_weights(), best.get_weights()));
  EXPECT_EQ(saved, 2);
  Model kept = compiled(small_cnn(), classifier());
  fit(kept, 3, false, &told);
  EXPECT_FALSE(same_bits(kept.get_weights(), best.get_weights()));
}

TEST(EarlyStopping, WhenTheBestWasEarlierItSaysSo) {
  std::string told;
  Model model = compiled(small_cnn(), classifier());
  FitOptions options = fit_with({.monitor = "loss",
                                 .patience = 9,
                                 .restore_best = true,
                                 .earlier = {{0, -1.0}},
                                 .tell = [&](const std::string& line) { told += line; }});
  options.initial_epoch = 1;
  options.epochs = 2;
  model.fit(image_data(8), options);
  EXPECT_SAYS(told, "the best epoch, 1, was before this fit began");
}

}  // namespace
}  // namespace pando
