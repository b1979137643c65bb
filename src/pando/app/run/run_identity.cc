// SPDX-License-Identifier: MIT
#include "pando/app/run/run_identity.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pando/app/flags/deciding_options.h"
#include "pando/app/job/exit_code.h"
#include "pando/app/run/trained_model.h"
#include "pando/base/cpu.h"

namespace pando::app {
namespace {

// The name of a property as the key of a note: "global_batch_size".
std::string note_of(std::string name) {
  std::ranges::replace(name, ' ', '_');
  return name;
}

// Kernel choices of large networks are long.
std::string shortened(const std::string& text) {
  constexpr size_t kMost = 160;
  return text.size() <= kMost ? text : text.substr(0, kMost) + " ...";
}

// One thing that is not as the checkpoint records it.
struct RunDifference {
  std::string what;  // a property, or an option with its dashes
  std::string recorded;
  std::string now;
  std::string remedy;
};

[[noreturn]] void refuse_difference(const std::string& file, const RunDifference& found) {
  throw UsageError("--resume: ", file, " belongs to a run with ", found.what, " ", found.recorded,
                   ", this run has ", found.now, "; change ", found.remedy,
                   ", or use --weights with this file to start a new run from its weights");
}

}  // namespace

std::vector<RunProperty> run_properties(const TrainingSetup& setup) {
  const TrainOptions& options = setup.options;
  const std::vector<size_t> scratch =
      options.counterparts.scratch_limits(options.devices, options.threads);
  return {{"samples", std::to_string(setup.data.sets.train.size()), "--dataset-path",
           Effect::other_run},
          {"training data", setup.data.fingerprint, "--dataset-path", Effect::other_run},
          {"global batch size", std::to_string(setup.batch.global_batch_size),
           "--micro-batch-size, --num-replicas, --gradient-accumulation-count or "
           "--global-batch-size",
           Effect::other_run},
          {"updates per epoch", std::to_string(setup.updates), "--weight-updates-per-epoch",
           Effect::other_run},
          {"instances", std::to_string(setup.instances.count()), "the launcher's --num-instances"},
          {"pipeline splits", join(setup.splits, " "), "--pipeline-splits"},
          {"scratch memory", fmt::format("{}", fmt::join(scratch, " ")),
           "--memory-per-device or --available-memory-proportion"},
          {"instruction set", isa_name(), "the processor or PANDO_ISA"},
          {.name = "kernel choices",
           .value = join(to_texts(setup.model.kernel_choices()), " "),
           .remedy = "--tune or --kernel-choices",
           .earlier = ""}};
}

RunFacts run_facts_of(const TrainingSetup& setup) {
  const TrainOptions& options = setup.options;
  const auto absolute = [](const std::string& path) {
    return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
  };
  return {.command = command_of_this_process(),
          .version = PANDO_VERSION,
          .activity = options.phases.training ? "training" : "validation",
          .model = options.model_name(),
          .dataset = options.data.dataset,
          .task = setup.task().name,
          .train_samples = setup.data.sets.train.size(),
          .test_samples = setup.data.sets.test.size(),
          .parameters = setup.model.network().parameters(),
          .seed = options.seed,
          .updates_per_epoch = setup.updates,
          .global_batch_size = setup.batch.global_batch_size,
          .instances = setup.instances.count(),
          .compile_seconds = 0,
          .profile = absolute(options.profile),
          .trace = absolute(options.trace),
          .machine = this_machine()};
}

std::map<std::string, std::string> run_notes(const TrainingSetup& setup) {
  std::map<std::string, std::string> notes = network_notes(setup.options, setup.data, setup.entry);
  for (const RunProperty& property : run_properties(setup)) {
    notes[note_of(property.name)] = property.value;
  }
  notes[kOptionsNote] = to_yaml(deciding_options(setup.options));
  const std::string& path = setup.options.data.dataset_path;
  if (!path.empty()) notes[kDatasetPathNote] = std::filesystem::absolute(path).string();
  if (setup.options.model_file) {
    notes[kModelFileNote] = std::filesystem::absolute(setup.options.model_file->path).string();
  }
  return notes;
}

void check_same_run(const TrainingSetup& setup, const TrainingState& state,
                    const std::function<void(const std::string&)>& tell) {
  const auto see = [&](Effect effect, const RunDifference& found) {
    if (effect == Effect::other_run) refuse_difference(state.weights.path, found);
    tell(concat("warning: --resume: ", found.what, " was '", found.recorded, "' and is now '",
                found.now, "' (", found.remedy,
                "): the run continues, but its results may differ from those of an uninterrupted "
                "run"));
  };
  bool is_complete = state.notes.contains(kOptionsNote);
  for (const RunProperty& property : run_properties(setup)) {
    const auto found = state.notes.find(note_of(property.name));
    std::optional<std::string> recorded = property.earlier;
    if (found != state.notes.end()) recorded = found->second;
    is_complete = is_complete && recorded;
    if (!recorded || *recorded == property.value) continue;
    see(property.effect,
        {property.name, shortened(*recorded), shortened(property.value), property.remedy});
  }
  compare_options(setup.options, state, [&](const OptionDifference& found) {
    see(found.option.effect,
        {found.option.name, found.recorded, found.now, "--" + found.option.name});
  });
  if (is_complete) return;
  tell(concat("warning: --resume: ", state.weights.path,
              " is of an earlier version and does not record all options and the data of its run; "
              "whether they are the same cannot be checked"));
}

}  // namespace pando::app
