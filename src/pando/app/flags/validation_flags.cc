// SPDX-License-Identifier: MIT
#include "pando/app/flags/validation_flags.h"

#include <filesystem>

#include "pando/app/job/exit_code.h"
#include "pando/base/paths.h"
#include "pando/runtime/machine/device_set.h"

namespace pando::app {
namespace {

// The number of devices of one replica in validation.
int devices_each(const DeviceFlags& devices) {
  return devices.pipeline_validation_model ? devices.devices_per_replica() : 1;
}

// Without training, validation chooses the number of devices, unless --core-sets names them.
bool may_have_own_devices(const ValidationFlags& flags, const DeviceFlags& devices) {
  return !flags.training && devices.core_sets.empty();
}

void validate_replicas(const ValidationFlags& flags, const DeviceFlags& devices) {
  if (!flags.validation_num_replicas) return;
  const int wanted = *flags.validation_num_replicas;
  const int each = devices_each(devices);
  const bool own = may_have_own_devices(flags, devices);
  const int most = (own ? runtime::kMostDevices : devices.devices()) / each;
  if (wanted <= most) return;
  throw UsageError("--validation-num-replicas: expected at most ", most, " replicas of ",
                   counted(each, "device"), " each on the ",
                   own ? runtime::kMostDevices : devices.devices(), " devices",
                   own ? " that a run may have" : " of the run", ", got ", wanted,
                   flags.training ? "; a run with --training false chooses its own devices" : "");
}

}  // namespace

int ValidationFlags::replicas(const DeviceFlags& devices) const {
  return validation_num_replicas.value_or(devices.devices() / devices_each(devices));
}

DeviceStrategyOptions ValidationFlags::strategy(const DeviceFlags& devices, int threads) const {
  DeviceStrategyOptions options = devices.strategy(threads);
  if (may_have_own_devices(*this, devices)) {
    options.devices = replicas(devices) * devices_each(devices);
  }
  return options;
}

void add_validation_flags(OptionTable& table, ValidationFlags& flags) {
  table.begin_group("Phases and validation", Effect::none);
  table.add("training", flags.training, "train the model; if false, only validate")
      .only_for_training();
  table
      .add("validation", flags.validation,
           "measure loss and accuracy of every checkpoint on the test data: during (or true) when "
           "it is written, after: all of them after training; false: no validation")
      .with_hint("true|false|after|during")
      .may_stand_alone()
      .only_for_training();
  table
      .add("validate-during-training", flags.during_training,
           "older form of --validation: true means during, false means after")
      .only_for_training();
  table
      .add("validation-micro-batch-size", flags.validation_micro_batch_size,
           "number of samples per step of one replica in validation; default: the same as in "
           "training")
      .with_hint("N")
      .at_least(1)
      .at_most(1 << 24);
  table
      .add("validation-num-replicas", flags.validation_num_replicas,
           "number of copies of the model in validation; default: one on every device, or with "
           "--pipeline-validation-model the same as in training. Results do not depend on it")
      .with_hint("N")
      .at_least(1)
      .at_most(runtime::kMostDevices);
  table.add("test-time-flip", flags.test_time_flip,
            "validate with the mean of what the model says about a picture and its mirror image");
  table
      .add("checkpoint-input-dir", flags.checkpoint_input_dir,
           "validate the checkpoints epoch_<number>.h5 in this folder instead of those that "
           "training "
           "writes")
      .with_hint("DIR");
  table
      .add("clean-dir", flags.clean_dir,
           "delete the checkpoints that training wrote once they are validated")
      .only_for_training();
  table.add("sweep", flags.sweep,
            "report results for a hyper-parameter search: the epoch that reached --target-accuracy "
            "and the optimization metric");
  table
      .add("target-accuracy", flags.target_accuracy,
           "the test accuracy to reach, as a fraction; the run reports the epoch of the first "
           "checkpoint that reaches it")
      .with_hint("X")
      .above(0)
      .at_most(1);
  table
      .add("mlperf-logging", flags.mlperf_logging,
           "write ':::MLLOG' lines, and first train a warm-up epoch whose changes are undone")
      .only_for_training();
}

void settle_validation(OptionTable& table, ValidationFlags& flags) {
  if (!flags.during_training) return;
  if (flags.validates()) {
    flags.validation = *flags.during_training ? ValidationTime::during : ValidationTime::after;
    table.find("validation", "").origin = {.place = "chosen by --validate-during-training"};
  } else if (*flags.during_training) {
    throw UsageError(
        "--validate-during-training: expected a run that validates; remove --validation false");
  }
  flags.during_training.reset();
}

void validate(const ValidationFlags& flags, const DeviceFlags& devices) {
  if (!flags.training && !flags.validates()) {
    throw UsageError("--training false --validation false: nothing is left to do; remove one");
  }
  if (flags.sweep && !flags.validates()) {
    throw UsageError("--sweep: its figures come from validation; remove --validation false");
  }
  if (!flags.checkpoint_input_dir.empty() && !is_folder(flags.checkpoint_input_dir)) {
    throw UsageError(
        "--checkpoint-input-dir: expected a folder with checkpoints "
        "epoch_<number>.h5, got '",
        flags.checkpoint_input_dir, "'");
  }
  if (!flags.checkpoint_input_dir.empty() && !flags.validates()) {
    throw UsageError(
        "--checkpoint-input-dir: its checkpoints are to be validated; remove --validation false");
  }
  if (flags.clean_dir && !(flags.training && flags.validates())) {
    throw UsageError(
        "--clean-dir: removes checkpoints of training after their validation; expected a run that "
        "trains and validates");
  }
  validate_replicas(flags, devices);
}

}  // namespace pando::app

namespace pando {

bool OptionType<app::ValidationTime>::read(const ConfigValue& value, app::ValidationTime& field) {
  if (value.kind != ConfigValue::Kind::scalar) return false;
  const std::string text = to_lower(value.text);
  if (text == "after" || text == "during") {
    field = text == "after" ? app::ValidationTime::after : app::ValidationTime::during;
    return true;
  }
  const std::optional<bool> is_on = parse_bool(text);
  if (is_on) field = *is_on ? app::ValidationTime::during : app::ValidationTime::off;
  return is_on.has_value();
}

ConfigValue OptionType<app::ValidationTime>::show(app::ValidationTime field) {
  if (field == app::ValidationTime::off) return ConfigValue::scalar("false");
  return ConfigValue::scalar(field == app::ValidationTime::after ? "after" : "during");
}

}  // namespace pando
