// SPDX-License-Identifier: MIT
#include "pando/app/flags/validation_flags.h"

#include <filesystem>

#include "pando/app/job/exit_code.h"
#include "pando/runtime/machine/device_set.h"

namespace pando::app {
namespace {

// Of one replica that validates.
int devices_each(const DeviceFlags& devices) {
  return devices.pipeline_validation_model ? devices.devices_per_replica() : 1;
}

// Without training the devices follow the validation, unless their cores are named.
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
  throw UsageError("--validation-num-replicas ", wanted, ": the ",
                   own ? runtime::kMostDevices : devices.devices(), " devices",
                   own ? " that a run may have" : " of the run", " hold ", most, " of ", each,
                   each == 1 ? " device" : " devices", " each, wanted at most ", most,
                   flags.training ? ", or --training false, which chooses its own devices" : "");
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
  table.begin_group("Phases and validation");
  table.add("training", flags.training, "train; without it only validate");
  table.add("validation", flags.validation,
            "measure loss and accuracy of every checkpoint on the test data, after training");
  table.add("validate-during-training", flags.during_training,
            "measure them after every epoch too, while the model trains: for early stopping, and "
            "to watch");
  table
      .add("validation-micro-batch-size", flags.validation_micro_batch_size,
           "samples per step of one replica in validation; by default as in training")
      .with_hint("N")
      .at_least(1)
      .at_most(1 << 24);
  table
      .add("validation-num-replicas", flags.validation_num_replicas,
           "copies of the model in validation; by default one on every device, or with "
           "--pipeline-validation-model as many as in training. Results do not depend on it")
      .with_hint("N")
      .at_least(1)
      .at_most(runtime::kMostDevices);
  table
      .add("checkpoint-input-dir", flags.checkpoint_input_dir,
           "validate the checkpoints epoch_<number>.h5 of this folder; by default those that "
           "training wrote")
      .with_hint("DIR");
  table.add("clean-dir", flags.clean_dir,
            "remove the checkpoints that training wrote after they are validated");
  table.add("sweep", flags.sweep,
            "tell what a search for hyper-parameters wants to know: the epoch that reached "
            "--target-accuracy and the optimization metric");
  table
      .add(
          "target-accuracy", flags.target_accuracy,
          "the test accuracy to reach, as a fraction; tells the epoch of the first checkpoint that "
          "does")
      .with_hint("X")
      .above(0)
      .at_most(1);
  table.add(
      "mlperf-logging", flags.mlperf_logging,
      "train a warm-up epoch first, whose changes are taken back, and write ':::MLLOG' lines");
}

void validate(const ValidationFlags& flags, const DeviceFlags& devices) {
  if (!flags.training && !flags.validation) {
    throw UsageError(
        "--training false --validation false: nothing is left to do, wanted at least one of them");
  }
  if (flags.sweep && !flags.validation) {
    throw UsageError("--sweep: its figures come from validation, wanted no --validation false");
  }
  if (!flags.checkpoint_input_dir.empty() &&
      !std::filesystem::is_directory(flags.checkpoint_input_dir)) {
    throw UsageError("--checkpoint-input-dir: '", flags.checkpoint_input_dir,
                     "' is no folder, wanted one with checkpoints epoch_<number>.h5");
  }
  if (!flags.checkpoint_input_dir.empty() && !flags.validation) {
    throw UsageError(
        "--checkpoint-input-dir: its checkpoints are validated, wanted no --validation false");
  }
  if (flags.clean_dir && !(flags.training && flags.validation)) {
    throw UsageError(
        "--clean-dir removes checkpoints of training after their validation, wanted both phases");
  }
  validate_replicas(flags, devices);
}

}  // namespace pando::app
