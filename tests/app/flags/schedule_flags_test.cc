#include "pando/app/flags/schedule_flags.h"

#include <cmath>

#include "tests/app/parse_options.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

// Ten weight updates of 100 samples per epoch, so that 1e-3 is a rate of 0.1.
constexpr ScheduleBase kBase{
    .global_batch_size = 100, .updates_per_epoch = 10, .default_rate = 0.75};

ScheduleFlags flags_of(const std::vector<std::string>& args) { return parse(args).schedule; }

struct Point {
  int64_t update;
  double rate;
};

void expect_rates(const std::vector<std::string>& args, const std::vector<Point>& points) {
  const LearningRate rate = make_schedule(flags_of(args), kBase);
  for (const Point& point : points) {
    EXPECT_NEAR(rate.at(point.update), point.rate, 1e-15) << args[0] << " at " << point.update;
  }
}

TEST(ScheduleFlags, Const) {
  expect_rates({"--learning-rate=0.3"}, {{0, 0.3}, {1000, 0.3}});
  expect_rates({"--lr-schedule-params", "{initial_learning_rate: 1e-3}"}, {{0, 0.1}, {1000, 0.1}});
  EXPECT_EQ(make_schedule({}, kBase).at(5), 0.75);
}

TEST(ScheduleFlags, Cosine) {
  const std::vector<std::string> args = {
      "--lr-schedule=cosine",
      "--lr-schedule-params={initial_learning_rate: 1e-3, epochs_to_total_decay: 1.25}"};
  // T = int(12.5)
  expect_rates(args, {{0, 0.1}, {4, 0.075}, {6, 0.05}, {12, 0}, {13, 0}});
  expect_rates({"--lr-schedule=cosine", "--lr-schedule-params={epochs_to_total_decay: 2}",
                "--learning-rate=0.4"},
               {{0, 0.4}, {10, 0.2}, {20, 0}});
}

TEST(ScheduleFlags, Polynomial) {
  const std::vector<std::string> args = {
      "--lr-schedule=polynomial",
      "--lr-schedule-params={initial_learning_rate: 1e-3, epochs_to_total_decay: 1.25, "
      "end_learning_rate_ratio: 0.2, power: 2}"};
  // T = 12.5, A = 0.1, B = 0.02
  expect_rates(args, {{0, 0.1},
                      {5, 0.08 * 0.36 + 0.02},
                      {10, 0.08 * 0.04 + 0.02},
                      {12, 0.08 * 0.0016 + 0.02},
                      {13, 0.02},
                      {14, 0.02}});
}

TEST(ScheduleFlags, SteppedValuesAreEffective) {
  const std::vector<std::string> args = {"--lr-schedule", "stepped", "--lr-schedule-params",
                                         "{boundaries: [0.5, 1.25], values: [0.3, 0.2, 0.1]}"};
  expect_rates(args, {{0, 0.3}, {5, 0.3}, {6, 0.2}, {12, 0.2}, {13, 0.1}});
  expect_rates({"--lr-schedule=stepped", "--lr-schedule-params={boundaries: [], values: [0.3]}"},
               {{0, 0.3}, {99, 0.3}});
}

TEST(ScheduleFlags, WarmupAndStairs) {
  // W = int(2.5) = 2
  const std::string shift = "--lr-warmup-params={warmup_mode: shift, warmup_epochs: 0.25}";
  expect_rates({"--learning-rate=0.3", shift}, {{0, 0.1}, {1, 0.2}, {2, 0.3}, {3, 0.3}});
  const std::string steps = "--lr-schedule-params={boundaries: [0.1], values: [0.6, 0.3]}";
  expect_rates({"--lr-schedule=stepped", steps, shift},
               {{0, 0.2}, {1, 0.4}, {2, 0.6}, {3, 0.6}, {4, 0.3}});
  const std::string mask = "--lr-warmup-params={warmup_mode: Mask, warmup_epochs: 0.35}";
  expect_rates({"--lr-schedule=stepped", steps, mask}, {{0, 0.15}, {1, 0.3}, {2, 0.225}, {3, 0.3}});
  // Across epochs, with a warm-up of one and a half of them: the warm-up is in stairs too.
  const std::string longer = "--lr-warmup-params={warmup_mode: shift, warmup_epochs: 1.5}";
  expect_rates({"--learning-rate=0.32", longer, "--lr-staircase"},
               {{0, 0.02}, {9, 0.02}, {10, 0.22}, {19, 0.22}, {20, 0.32}, {29, 0.32}});
}

TEST(ScheduleFlags, PresetsOfTheSeed) {
  // resnet50_16ipus_16k: cosine after a warm-up by shift, in stairs; 78 updates of 16384 samples.
  const std::string params =
      R"({"initial_learning_rate": 0.0001220703125, "epochs_to_total_decay": 95})";
  const std::string warmup = R"({"warmup_mode": "shift", "warmup_epochs": 5})";
  const ScheduleFlags flags = flags_of({"--lr-schedule", "cosine", "--lr-schedule-params", params,
                                        "--lr-warmup-params", warmup, "--lr-staircase", "True"});
  const LearningRate rate = make_schedule(
      flags, {.global_batch_size = 16384, .updates_per_epoch = 78, .default_rate = 0});
  EXPECT_DOUBLE_EQ(rate.at(77), 2.0 / 391);
  EXPECT_DOUBLE_EQ(rate.at(389), 2.0 * 313 / 391);
  EXPECT_DOUBLE_EQ(rate.at(390), 2);
  EXPECT_DOUBLE_EQ(rate.at(390 + 77), 2);
  EXPECT_DOUBLE_EQ(rate.at(390 + 78), 1 + std::cos(std::acos(-1) * 1 / 95));
  EXPECT_EQ(rate.at(int64_t{78} * 100), 0);
}

TEST(ScheduleFlags, KeysBelongToTheSchedule) {
  const TrainOptions whole = parse({"--lr-schedule=cosine", "--num-epochs=7"});
  EXPECT_EQ(whole.schedule.params.epochs_to_total_decay, 7);
  EXPECT_SAYS(whole.config_text, "chosen by --num-epochs");
  EXPECT_SAYS(error({"--lr-schedule=cosine", "--num-epochs=0"}),
              "cosine requires epochs_to_total_decay");
  EXPECT_SAYS(error({"--lr-schedule=polynomial",
                     "--lr-schedule-params={initial_learning_rate: 1, epochs_to_total_decay: 1}"}),
              "missing end_learning_rate_ratio, power");
  EXPECT_SAYS(error({"--lr-schedule=stepped", "--lr-schedule-params={values: [1]}"}),
              "missing boundaries");
  EXPECT_SAYS(error({"--lr-schedule-params={power: 2}"}), "--lr-schedule-params: const ", "'power'",
              "initial_learning_rate");
  EXPECT_SAYS(error({"--lr-warmup-params={warmup_epochs: 3}"}),
              "--lr-warmup-params: ", "warmup_mode and warmup_epochs", "got only warmup_epochs");
  EXPECT_SAYS(error({"--lr-warmup-params={warmup_mode: mask}"}), "got only warmup_mode");
  EXPECT_SAYS(error({"--lr-warmup-params={warmup_mode: shif, warmup_epochs: 1}"}),
              "did you mean 'shift'?");
}

TEST(ScheduleFlags, ListsOfSteppedFitTogether) {
  const auto with = [](const std::string& params) {
    return error({"--lr-schedule=stepped", "--lr-schedule-params", params});
  };
  EXPECT_SAYS(with("{boundaries: [1, 2], values: [1, 2]}"), "--lr-schedule-params: stepped",
              "expected 3 values", "2 boundaries", "got 2");
  EXPECT_SAYS(with("{boundaries: [2, 1], values: [1, 2, 3]}"), "boundaries", "ascending");
  EXPECT_SAYS(with("{boundaries: [1], values: [1, -2]}"), "at least 0");
  EXPECT_SAYS(with("{boundaries: [x], values: [1, 2]}"), "each item a number");
  EXPECT_SAYS(with("{boundaries: {a: 1}, values: [1, 2]}"), "a list");
}

TEST(ScheduleFlags, ADecayShorterThanAnUpdate) {
  const ScheduleFlags flags = flags_of({"--lr-schedule=cosine", "--learning-rate=1",
                                        "--lr-schedule-params={epochs_to_total_decay: 0.05}"});
  EXPECT_SAYS(testing_support::error_of<UsageError>([&] { make_schedule(flags, kBase); }),
              "epochs_to_total_decay", "10 weight updates", "got 0.05");
}

TEST(ScheduleFlags, TwoRatesExcludeEachOther) {
  EXPECT_SAYS(error({"--learning-rate=0.1", "--lr-schedule-params={initial_learning_rate: 1}"}),
              "--learning-rate 0.1", "initial_learning_rate 1 in --lr-schedule-params",
              "remove one");
  EXPECT_SAYS(error({"--learning-rate=0.1", "--lr-schedule=stepped",
                     "--lr-schedule-params={boundaries: [], values: [1]}"}),
              "--learning-rate: ", "stepped", "values");
}

TEST(ScheduleFlags, TheCommandLineReplacesTheRateOfAFile) {
  const TestFolder folder;
  const std::string preset =
      folder.write("preset.yml",
                   "lr-schedule: cosine\n"
                   "lr-schedule-params: {initial_learning_rate: 1e-3, epochs_to_total_decay: 2}\n");
  const ScheduleFlags faster = flags_of({"--config-path", preset, "--learning-rate=0.4"});
  EXPECT_EQ(make_schedule(faster, kBase).at(10), 0.2);
  const std::string plain = folder.write("plain.yml", "learning-rate: 0.4\n");
  EXPECT_EQ(make_schedule(flags_of({"--config-path", plain,
                                    "--lr-schedule-params={initial_learning_rate: 1e-3}"}),
                          kBase)
                .at(0),
            0.1);
  const ScheduleFlags steps = flags_of({"--config-path", plain, "--lr-schedule=stepped",
                                        "--lr-schedule-params={boundaries: [], values: [0.2]}"});
  EXPECT_EQ(make_schedule(steps, kBase).at(0), 0.2);
}

TEST(ScheduleFlags, TheRecordedConfigurationGivesTheSameRates) {
  const TestFolder folder;
  const std::vector<std::vector<std::string>> lines = {
      {},
      {"--lr-schedule-params={initial_learning_rate: 1e-3}"},
      {"--lr-schedule=polynomial", "--lr-staircase",
       "--lr-schedule-params={initial_learning_rate: 1e-3, epochs_to_total_decay: 3, "
       "end_learning_rate_ratio: 0.1, power: 2}",
       "--lr-warmup-params={warmup_mode: mask, warmup_epochs: 1}"},
      {"--lr-schedule=stepped", "--lr-schedule-params={boundaries: [1, 2], values: [3, 2, 1]}"}};
  for (const std::vector<std::string>& args : lines) {
    const TrainOptions first = parse(args);
    const TrainOptions again =
        parse({"--config-path", folder.write("config.yml", first.config_text)});
    for (const int64_t update : {0, 3, 11, 25, 40}) {
      EXPECT_EQ(make_schedule(first.schedule, kBase).at(update),
                make_schedule(again.schedule, kBase).at(update));
    }
  }
}

TEST(ScheduleFlags, DescribesEffectiveRates) {
  const auto text = [](const std::vector<std::string>& args) {
    return describe(flags_of(args), kBase);
  };
  EXPECT_EQ(text({"--learning-rate=0.01"}), "0.01");
  EXPECT_EQ(describe({}, kBase), "0.75");
  EXPECT_EQ(text({"--lr-schedule=cosine", "--lr-staircase",
                  "--lr-schedule-params={initial_learning_rate: 1e-3, epochs_to_total_decay: 65}",
                  "--lr-warmup-params={warmup_mode: shift, warmup_epochs: 5}"}),
            "cosine from 0.1 to 0 over 65 epochs after a warm-up of 5 epochs (shift) in stairs of "
            "an epoch");
  EXPECT_EQ(
      text({"--lr-schedule=polynomial",
            "--lr-schedule-params={initial_learning_rate: 1e-3, epochs_to_total_decay: 9, "
            "end_learning_rate_ratio: 0.1, power: 2}",
            "--lr-warmup-params={warmup_mode: mask, warmup_epochs: 5}"}),
      "polynomial of power 2 from 0.1 to 0.01 over 9 epochs with a warm-up of 5 epochs (mask)");
  EXPECT_EQ(text({"--lr-schedule=stepped",
                  "--lr-schedule-params={boundaries: [1, 2.5], values: [3, 2, 0.1]}"}),
            "stepped 3, 2, 0.1 after epochs 1, 2.5");
}

}  // namespace
}  // namespace pando::app
