// SPDX-License-Identifier: MIT
#include "pando/app/flags/job_settings.h"

#include <filesystem>
#include <fstream>
#include <span>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/record/checkpoint_list.h"
#include "pando/app/record/run_mark.h"
#include "pando/base/environment.h"
#include "pando/base/paths.h"
#include "pando/comm/job.h"
#include "pando/store/atomic_file.h"

namespace pando::app {

namespace {

namespace fs = std::filesystem;

constexpr const char* kJobFile = ".job";  // in a run directory

// Whether the options set the number of replicas. A validation ignores the number in the
// configuration of the training run if it cannot be divided among the instances.
bool replicas_are_given(const Option& option, const TrainOptions& options) {
  if (option.origin.kind == Origin::Kind::built_in) return false;
  return options.phases.training || option.origin.kind == Origin::Kind::command_line ||
         options.devices.num_replicas % options.devices.instances == 0;
}

// Without a number from the user, the launcher passes a default (PANDO_DEFAULT_REPLICAS), which the
// options may replace. A number from the user has priority over the options.
void settle_replicas(OptionTable& table, TrainOptions& options,
                     std::vector<std::string>& warnings) {
  const comm::Job& job = comm::current_job();
  DeviceFlags& devices = options.devices;
  devices.instances = job.communicator ? job.communicator->size() : 1;
  Option& option = table.find("num-replicas", "");
  const bool given = replicas_are_given(option, options);
  const bool launcher_decides = !given || environment("PANDO_DEFAULT_REPLICAS") != "1";
  if (job.total_replicas && launcher_decides) {
    const int total = *job.total_replicas;
    if (given && options.phases.training && devices.num_replicas != total) {
      warnings.push_back(fmt::format("--num-replicas {} is ignored: the launcher set {} replicas",
                                     devices.num_replicas, total));
    }
    devices.num_replicas = total;
    option.origin = {.place = "chosen by the launcher"};
  } else if (devices.instances > 1 && !given) {
    devices.num_replicas = devices.instances;
    option.origin = {.place = "one for each instance"};
  }
  if (devices.num_replicas % devices.instances != 0) {
    throw UsageError("--num-replicas: expected a multiple of the ", devices.instances,
                     " instances of this job, which have equally many each, got ",
                     devices.num_replicas);
  }
}

void settle_validation_replicas(OptionTable& table, TrainOptions& options,
                                std::vector<std::string>& warnings) {
  std::optional<int>& replicas = options.phases.validation_num_replicas;
  if (!replicas || options.devices.instances == 1) return;
  warnings.push_back(fmt::format(
      "--validation-num-replicas {}: no effect in a job of {} instances, which validate "
      "on all their devices",
      *replicas, options.devices.instances));
  replicas.reset();
  table.find("validation-num-replicas", "").origin = {.place = "off: several instances"};
}

// Instance 0 sends states and weights to the others, which neither write files nor print.
void leave_to_the_first(TrainOptions& options) {
  options.checkpoints.resume.clear();
  options.checkpoints.weights.clear();
  options.phases.checkpoint_input_dir.clear();
  options.dump_ir.clear();
  options.compile_report = false;
  options.quiet = true;
  options.verbose = false;
}

// The name of the job that a run directory belongs to; empty: none.
std::string job_of(const fs::path& run_dir) {
  std::string name;
  std::ifstream(run_dir / kJobFile) >> name;
  return name;
}

// The run directory of a job below runs/; empty: there is none.
std::string run_of_job(const std::string& job) {
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator("runs", none)) {
    if (job_of(entry.path()) == job) return entry.path().string();
  }
  return "";
}

// A restarted job resumes what its first attempt wrote.
void settle_restart(TrainOptions& options) {
  const std::string job = environment("PANDO_JOB");
  const bool is_restart = parse_int(environment("PANDO_RESTART")).value_or(0) > 0;
  if (job.empty() || !is_restart || !options.phases.training) return;
  if (options.run_dir.empty()) options.run_dir = run_of_job(job);
  const fs::path folder = options.checkpoints.folder(options.run_dir);
  if (job_of(options.run_dir) != job || !is_folder(folder) || checkpoints_in(folder).empty())
    return;
  if (are_of_different_runs(options.run_dir, folder)) return;
  options.checkpoints.resume = CheckpointFlags::kAuto;
}

}  // namespace

std::vector<std::string> settle_job(OptionTable& table, TrainOptions& options) {
  std::vector<std::string> warnings;
  settle_replicas(table, options, warnings);
  settle_validation_replicas(table, options, warnings);
  const Instances instances;
  if (instances.count() > 1 && options.counterparts.ckpt_all_instances) {
    options.checkpoints.own_folder = fmt::format("rank{}", instances.index());
  }
  if (instances.is_first()) {
    settle_restart(options);
  } else {
    leave_to_the_first(options);
  }
  return warnings;
}

void check_devices_per_replica(const DeviceFlags& devices) {
  const std::optional<int> wanted = comm::current_job().devices_per_replica;
  const int found = devices.devices_per_replica();
  if (!wanted || *wanted == found) return;
  throw UsageError("--ipus-per-replica of the launcher: expected ", found,
                   ", the devices of a replica by --pipeline-splits and --device-mapping, got ",
                   *wanted, "; start with --ipus-per-replica ", found);
}

void settle_together(const Instances& instances, TrainOptions& options) {
  options.slices = static_cast<int>(instances.share(static_cast<double>(options.slices)));
}

void mark_job(const std::string& run_dir) {
  const std::string job = environment("PANDO_JOB");
  if (job.empty() || job_of(run_dir) == job) return;
  const std::string line = job + "\n";
  store::replace_file((fs::path(run_dir) / kJobFile).string(), {std::as_bytes(std::span(line))});
}

}  // namespace pando::app
