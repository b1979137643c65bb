#include "pando/estimator/run_config.h"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

// The error of validate() for the default configuration after a change.
std::string error_after(const std::function<void(RunConfig&)>& change) {
  RunConfig config;
  change(config);
  return error_of([&] { validate(config); });
}

RunConfig device_config(const DeviceRunConfig& device) {
  RunConfig config;
  config.device = device;
  return config;
}

TEST(RunConfig, TheDefaultIsOneDeviceWithACheckpointNowAndThen) {
  const RunConfig config;
  validate(config);
  EXPECT_EQ(config.device.iterations_per_loop, 1);
  EXPECT_EQ(config.device.prefetch_depth, 3);
  EXPECT_EQ(config.save_summary_steps, 100);
  EXPECT_EQ(config.log_step_count_steps, 100);
  EXPECT_EQ(config.keep_checkpoint_max, 5);
}

TEST(RunConfig, NumbersHaveALeastValue) {
  EXPECT_EQ(error_after([](RunConfig& c) { c.device.iterations_per_loop = 0; }),
            "RunConfig: iterations_per_loop: expected at least 1, got 0");
  EXPECT_SAYS(error_after([](RunConfig& c) { c.device.num_replicas = 0; }),
              "num_replicas: expected at least 1, got 0");
  EXPECT_SAYS(error_after([](RunConfig& c) { c.device.num_shards = -2; }),
              "num_shards: expected at least 1, got -2");
  EXPECT_SAYS(error_after([](RunConfig& c) { c.device.ordinal = -1; }),
              "ordinal: expected at least 0, got -1");
  EXPECT_SAYS(error_after([](RunConfig& c) { c.device.prefetch_depth = 0; }),
              "prefetch_depth: expected at least 1, got 0");
  EXPECT_SAYS(error_after([](RunConfig& c) { c.device.data_workers = -1; }),
              "data_workers: expected at least 0, got -1");
  EXPECT_SAYS(error_after([](RunConfig& c) { c.save_summary_steps = -1; }),
              "save_summary_steps: expected at least 0, got -1");
  EXPECT_SAYS(error_after([](RunConfig& c) { c.log_step_count_steps = -5; }),
              "log_step_count_steps: expected at least 0, got -5");
  EXPECT_SAYS(error_after([](RunConfig& c) { c.keep_checkpoint_max = -1; }),
              "keep_checkpoint_max: expected at least 0, got -1");
  EXPECT_SAYS(error_after([](RunConfig& c) { c.keep_checkpoint_every_n_hours = 0; }),
              "keep_checkpoint_every_n_hours: expected more than 0, got 0");
}

TEST(RunConfig, ZeroSwitchesOffWhatMayBeOff) {
  RunConfig config;
  config.save_summary_steps = 0;
  config.log_step_count_steps = 0;
  config.keep_checkpoint_max = 0;
  config.save_checkpoints = false;
  EXPECT_NO_THROW(validate(config));
}

TEST(RunConfig, ReplicasAndShardsWantDevices) {
  const std::string message = error_after([](RunConfig& c) { c.device.num_replicas = 2; });
  EXPECT_SAYS(message, "num_replicas", "num_shards", "2 x 1");
  EXPECT_SAYS(message, "{{.devices = 2}}");
  EXPECT_SAYS(error_after([](RunConfig& c) { c.device.num_shards = 3; }), "{{.devices = 3}}");
  EXPECT_NO_THROW(validate(device_config({.num_replicas = 2, .devices = {{.devices = 2}}})));
}

TEST(RunConfig, ThereAreAsManyDevicesAsReplicasTimesShards) {
  const std::string message = error_of([] {
    validate(device_config({.num_replicas = 2, .num_shards = 2, .devices = {{.devices = 3}}}));
  });
  EXPECT_SAYS(message, "2 x 2 = 4");
  EXPECT_SAYS(message, "set 0 has 3 devices");
  EXPECT_SAYS(
      error_of([] { validate(device_config({.num_replicas = 2, .devices = {{.devices = 1}}})); }),
      "set 0 has 1 device;");
  EXPECT_NO_THROW(
      validate(device_config({.num_replicas = 2, .num_shards = 2, .devices = {{.devices = 4}}})));
}

TEST(RunConfig, TheOrdinalIsThatOfASetOfDevices) {
  EXPECT_SAYS(error_after([](RunConfig& c) { c.device.ordinal = 1; }), "ordinal is 1");
  const auto with_ordinal = [](int ordinal) {
    return device_config(
        {.num_replicas = 2, .devices = {{.devices = 4}, {.devices = 2}}, .ordinal = ordinal});
  };
  EXPECT_NO_THROW(validate(with_ordinal(1)));
  EXPECT_SAYS(error_of([&] { validate(with_ordinal(0)); }), "set 0 has 4 devices");
  EXPECT_SAYS(error_of([&] { validate(with_ordinal(2)); }),
              "ordinal is 2, but 2 sets of devices are configured; use 0 to 1");
  EXPECT_SAYS(
      error_of([] { validate(device_config({.devices = {{.devices = 1}}, .ordinal = 1})); }),
      "ordinal is 1, but 1 set of devices is configured");
}

TEST(RunConfig, CheckpointsComeByStepsOrBySeconds) {
  const auto config = [](std::optional<int64_t> steps, std::optional<double> secs) {
    RunConfig made;
    made.save_checkpoints_steps = steps;
    made.save_checkpoints_secs = secs;
    return made;
  };
  EXPECT_NO_THROW(validate(config(10, {})));
  EXPECT_NO_THROW(validate(config({}, 0.0)));
  EXPECT_SAYS(error_of([&] { validate(config(10, 600.0)); }),
              "save_checkpoints_steps and save_checkpoints_secs");
  EXPECT_SAYS(error_of([&] { validate(config(0, {})); }),
              "save_checkpoints_steps: expected at least 1, got 0");
  EXPECT_SAYS(error_of([&] { validate(config({}, -1.0)); }),
              "save_checkpoints_secs: expected at least 0, got -1");
  EXPECT_SAYS(error_of([&] { validate(config({}, std::numeric_limits<double>::quiet_NaN())); }),
              "save_checkpoints_secs: ");
}

TEST(RunConfig, NoCheckpointsMeansNoIntervalEither) {
  EXPECT_SAYS(error_after([](RunConfig& c) {
                c.save_checkpoints = false;
                c.save_checkpoints_steps = 10;
              }),
              "save_checkpoints is false, but save_checkpoints_steps");
  EXPECT_SAYS(error_after([](RunConfig& c) {
                c.save_checkpoints = false;
                c.save_checkpoints_secs = 10;
              }),
              "save_checkpoints is false, but save_checkpoints_secs");
}

}  // namespace
}  // namespace pando
