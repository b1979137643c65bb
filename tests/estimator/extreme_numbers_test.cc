// Numbers of estimators that make no sense: a typed error or work that ends, never a signal.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>

#include "tests/estimator/estimator_support.h"

namespace pando::estimator_tests {
namespace {

constexpr int64_t kTwo31 = int64_t{1} << 31;
constexpr int64_t kTwo62 = int64_t{1} << 62;
constexpr int64_t kLargestInt = std::numeric_limits<int>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
const std::vector<int64_t> kWholes = {0, 1, -1, kLargestInt, kTwo31, kTwo62, kLargest};
const std::vector<double> kReals = {0, 1, -1, 0x1p31, 0x1p62, NAN, kInfinity, -kInfinity};

// "" if all went well. Other exceptions than ours pass.
std::string refusal_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
    return error.what();
  }
  return "";
}

// Checks every value. `right` are those that must work; what is below 0 or not a number must not.
template <typename T>
void check_all(const std::string& name, const std::vector<T>& values, const std::vector<T>& right,
               const std::function<void(T)>& use) {
  for (const T value : values) {
    SCOPED_TRACE(concat(name, " ", value));
    std::string refusal;
    EXPECT_NO_THROW(refusal = refusal_of([&] { use(value); }));
    const bool works = std::ranges::count(right, value) > 0;
    if (works || !(value >= 0)) {
      EXPECT_EQ(refusal.empty(), works) << refusal;
    }
    if (!refusal.empty()) {
      const std::string number = concat(value);
      EXPECT_TRUE(refusal.find(name) != std::string::npos ||
                  refusal.find(number) != std::string::npos)
          << refusal;
    }
  }
}

// All rows that a prediction gives.
int64_t predicted(Estimator& estimator, const InputFn& input,
                  const EstimatorPredictOptions& how = {}) {
  int64_t rows = 0;
  for (const Prediction& row : estimator.predict(input, how)) rows += row.empty() ? 0 : 1;
  return rows;
}

// Endless data and a stop after the first weight update: any number of steps ends.
void train_briefly(EstimatorOptions options, const EstimatorTrainOptions& how = {.max_steps = 4}) {
  const TempFolder folder;
  options.model_dir = folder.path();
  const std::atomic<bool> stop = true;
  EstimatorTrainOptions stopping = how;
  stopping.stop = &stop;
  Estimator(classifier_fn, options).train(endless(), stopping);
}

void check_config(const std::string& name, const std::vector<int64_t>& right,
                  const std::function<void(RunConfig&, int64_t)>& set) {
  check_all<int64_t>(name, kWholes, right, [&](int64_t value) {
    EstimatorOptions options{.config = config_of()};
    set(options.config, value);
    train_briefly(options);
  });
}

TEST(EstimatorExtremes, WholeNumbersOfConfigurations) {
  const auto as_int = [](int64_t value) { return static_cast<int>(value); };
  const auto devices = [](RunConfig& c) -> DeviceRunConfig& { return c.device; };
  check_config("iterations_per_loop", {1},
               [&](RunConfig& c, int64_t n) { devices(c).iterations_per_loop = n; });
  check_config("num_replicas", {1},
               [&](RunConfig& c, int64_t n) { devices(c).num_replicas = as_int(n); });
  check_config("num_shards", {1},
               [&](RunConfig& c, int64_t n) { devices(c).num_shards = as_int(n); });
  check_config("prefetch_depth", {1},
               [&](RunConfig& c, int64_t n) { devices(c).prefetch_depth = as_int(n); });
  check_config("data_workers", {0, 1},
               [&](RunConfig& c, int64_t n) { devices(c).data_workers = as_int(n); });
  check_config("save_summary_steps", {0, 1, kTwo62},
               [&](RunConfig& c, int64_t n) { c.save_summary_steps = n; });
  check_config("log_step_count_steps", {0, 1, kTwo62},
               [&](RunConfig& c, int64_t n) { c.log_step_count_steps = n; });
  check_config("save_checkpoints_steps", {1, kTwo62},
               [&](RunConfig& c, int64_t n) { c.save_checkpoints_steps = n; });
  check_config("keep_checkpoint_max", {0, 1, kLargestInt},
               [&](RunConfig& c, int64_t n) { c.keep_checkpoint_max = as_int(n); });
}

TEST(EstimatorExtremes, RealNumbersOfConfigurations) {
  const auto check_real = [](const std::string& name, const std::vector<double>& right,
                             const std::function<void(RunConfig&, double)>& set) {
    check_all<double>(name, kReals, right, [&](double value) {
      EstimatorOptions options{.config = config_of()};
      set(options.config, value);
      train_briefly(options);
    });
  };
  check_real("save_checkpoints_secs", {0, 1, 0x1p31, 0x1p62, kInfinity},
             [](RunConfig& c, double r) { c.save_checkpoints_secs = r; });
  check_real("keep_checkpoint_every_n_hours", {1, 0x1p31, 0x1p62, kInfinity},
             [](RunConfig& c, double r) { c.keep_checkpoint_every_n_hours = r; });
}

TEST(EstimatorExtremes, Sizes) {
  const auto sized = [](std::optional<int64_t> EstimatorOptions::*size, int64_t value) {
    const TempFolder folder;
    EstimatorOptions options{.model_dir = folder.path(), .config = config_of()};
    options.*size = value;
    Estimator estimator(classifier_fn, options);
    const InputFn input = finite(4, 0);
    if (size == &EstimatorOptions::train_batch_size) estimator.train(input, {.steps = 1});
    if (size == &EstimatorOptions::eval_batch_size) estimator.evaluate(input);
    if (size == &EstimatorOptions::predict_batch_size) {
      predicted(estimator, input);
    }
  };
  using Options = EstimatorOptions;
  for (const auto& [name, size] : {std::pair("train_batch_size", &Options::train_batch_size),
                                   std::pair("eval_batch_size", &Options::eval_batch_size),
                                   std::pair("predict_batch_size", &Options::predict_batch_size)}) {
    check_all<int64_t>(name, kWholes, {1},
                       [&, which = size](int64_t value) { sized(which, value); });
  }
}

// An execution may be longer than the data. Its length in samples must be a number.
TEST(EstimatorExtremes, Loops) {
  check_all<int64_t>("iterations_per_loop", kWholes, {1, kTwo31}, [](int64_t n) {
    const TempFolder folder;
    const EstimatorOptions options{.model_dir = folder.path(),
                                   .config = config_of({.iterations_per_loop = n})};
    Estimator estimator(classifier_fn, options);
    EXPECT_EQ(predicted(estimator, finite()), 24);
    EXPECT_EQ(estimator.evaluate(finite()).count("loss"), 1u);
  });
}

TEST(EstimatorExtremes, OfCalls) {
  const EstimatorOptions options{.config = config_of()};
  check_all<int64_t>("steps", kWholes, {1, kTwo31},
                     [&](int64_t n) { train_briefly(options, {.steps = n}); });
  check_all<int64_t>("max_steps", kWholes, {1, kTwo31},
                     [&](int64_t n) { train_briefly(options, {.max_steps = n}); });
  const TempFolder folder;
  Estimator estimator(classifier_fn, {.model_dir = folder.path(), .config = config_of()});
  check_all<int64_t>("steps", kWholes, {1, kTwo31},
                     [&](int64_t n) { estimator.evaluate(finite(), {.steps = n}); });
  check_all<int64_t>("every_n_steps", kWholes, {0, 1, kLargest}, [&](int64_t n) {
    train_and_evaluate(estimator, {.input_fn = endless(), .max_steps = 2},
                       {.input_fn = finite(), .every_n_steps = n});
  });
  check_all<int64_t>("num_predictions", kWholes, {0, 1, kTwo62, kLargest}, [&](int64_t n) {
    EXPECT_EQ(predicted(estimator, finite(), {.num_predictions = n}), std::min<int64_t>(n, 24));
  });
  check_all<int64_t>("batch", kWholes, {1},
                     [&](int64_t n) { estimator.evaluate(finite(4, n), {.steps = 1}); });
  check_all<int64_t>("every_n_iter", kWholes, {1, kTwo62},
                     [](int64_t n) { LoggingHook({.every_n_iter = n}); });
  check_all<double>("every_n_secs", kReals, {1},
                    [](double r) { LoggingHook({.every_n_secs = r}); });
}

}  // namespace
}  // namespace pando::estimator_tests
