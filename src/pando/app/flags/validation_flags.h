// The flags of `pando train` that choose the phases of a run and how it validates.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pando/app/flags/device_flags.h"
#include "pando/options/options.h"

namespace pando::app {

// When checkpoints are validated on the test data: each when it is written, or all after training.
enum class ValidationTime { off, after, during };

struct ValidationFlags {
  static constexpr double kTargetAccuracy = 0.759;

  bool training = true;
  ValidationTime validation = ValidationTime::during;
  std::optional<bool> during_training;  // the older flag; settle_validation resets it
  std::optional<int64_t> validation_micro_batch_size;  // default: the same as in training
  std::optional<int> validation_num_replicas;          // default: as many as the devices hold
  bool test_time_flip = false;
  bool sweep = false;
  double target_accuracy = kTargetAccuracy;  // a fraction
  bool mlperf_logging = false;
  std::string checkpoint_input_dir;  // empty: the checkpoints that training wrote
  bool clean_dir = false;

  bool validates() const { return validation != ValidationTime::off; }
  // False with checkpoint_input_dir: the checkpoints of another folder do not come from training.
  bool validates_during() const {
    return training && validation == ValidationTime::during && checkpoint_input_dir.empty();
  }

  int64_t micro_batch_size(int64_t of_training) const {
    return validation_micro_batch_size.value_or(of_training);
  }
  // If the user sets a target, it is reported even without --sweep.
  bool has_target() const { return sweep || target_accuracy != kTargetAccuracy; }

  // The number of replicas in validation. By default the number in training if validation uses the
  // pipeline (--pipeline-validation-model), otherwise one on each device.
  int replicas(const DeviceFlags& devices) const;
  // The devices of a run: those for training or, if it does not train, those for validation.
  DeviceStrategyOptions strategy(const DeviceFlags& devices, int threads) const;
};

void add_validation_flags(OptionTable& table, ValidationFlags& flags);

// Translates --validate-during-training to a value of --validation.
void settle_validation(OptionTable& table, ValidationFlags& flags);

// Checks combinations of flags; throws UsageError that names the flags.
void validate(const ValidationFlags& flags, const DeviceFlags& devices);

}  // namespace pando::app

namespace pando {

template <>
struct OptionType<app::ValidationTime> {
  static constexpr const char* kWanted = "true, false, after or during";
  static bool read(const ConfigValue& value, app::ValidationTime& field);
  static ConfigValue show(app::ValidationTime field);
};

}  // namespace pando
