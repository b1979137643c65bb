// The flags of `pando train` that say which phases a run has and how it validates.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pando/app/flags/device_flags.h"
#include "pando/options/options.h"

namespace pando::app {

// When checkpoints are measured on the test data: each as it is written, or all after training.
enum class ValidationTime { off, after, during };

struct ValidationFlags {
  static constexpr double kTargetAccuracy = 0.759;

  bool training = true;
  ValidationTime validation = ValidationTime::during;
  std::optional<bool> during_training;                 // the older flag; settle_validation ends it
  std::optional<int64_t> validation_micro_batch_size;  // that of training
  std::optional<int> validation_num_replicas;          // as many as the devices hold
  bool sweep = false;
  double target_accuracy = kTargetAccuracy;  // a fraction
  bool mlperf_logging = false;
  std::string checkpoint_input_dir;  // empty: where training wrote its own
  bool clean_dir = false;

  bool validates() const { return validation != ValidationTime::off; }
  // Checkpoints of another folder are not those that training writes.
  bool validates_during() const {
    return training && validation == ValidationTime::during && checkpoint_input_dir.empty();
  }

  int64_t micro_batch_size(int64_t of_training) const {
    return validation_micro_batch_size.value_or(of_training);
  }
  // A target that the user gave is reported without --sweep too.
  bool has_target() const { return sweep || target_accuracy != kTargetAccuracy; }

  // The replicas of a validation. Without a number of their own: those of training when the
  // pipeline is kept (--pipeline-validation-model), else one on each device.
  int replicas(const DeviceFlags& devices) const;
  // The devices of a run: those of training, or, when it does not train, those of its validation.
  DeviceStrategyOptions strategy(const DeviceFlags& devices, int threads) const;
};

void add_validation_flags(OptionTable& table, ValidationFlags& flags);

// --validate-during-training as a value of --validation.
void settle_validation(OptionTable& table, ValidationFlags& flags);

// What no single flag can check: throws UsageError that names the flags.
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
