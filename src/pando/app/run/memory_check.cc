// SPDX-License-Identifier: MIT
#include "pando/app/run/memory_check.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "pando/base/memory_use.h"
#include "pando/base/strings.h"
#include "pando/datasets/all_datasets.h"
#include "pando/runtime/machine/device_set.h"
#include "pando/train/profile_report.h"

namespace pando::app {

namespace {

// Room of a data thread for the file and the pixels of a photograph.
constexpr int64_t kDecodingBytes = int64_t{16} << 20;
constexpr int64_t kEventBytes = 32;  // of a trace

struct Batches {
  int64_t training = 0;
  int64_t validation = 0;
};

Batches batches_of(const TrainOptions& options) {
  return {options.micro_batch_size, options.phases.micro_batch_size(options.micro_batch_size)};
}

RunPart training_part(const TrainingSetup& setup, int64_t batch) {
  const FitOptions fit = setup.fit_options();
  return {.mode = RunMode::train,
          .batch_size = batch,
          .fields = setup.data.sets.train.fields(),
          .prefetch_depth = fit.prefetch_depth,
          .data_workers = fit.data_workers,
          .same_batch = fit.same_batch};
}

// How many copies of weights and optimizer slots there are: of the beginning, to which a run may go
// back, of the file that it resumes, and while a checkpoint is written its numbers and its file,
// for which HDF5 takes up to twice its size.
int state_copies(const CheckpointFlags& checkpoints) {
  return 1 + (checkpoints.are_off() ? 0 : 3) + (checkpoints.resume.empty() ? 0 : 1);
}

int64_t trace_bytes(const TrainOptions& options) {
  if (!options.records()) return 0;
  const profile::TraceOptions trace =
      options.trace.empty() ? kProfileTrace : profile::TraceOptions{};
  const int cores = runtime::topology_of(comm::current_job()).usable_cores();
  return static_cast<int64_t>(trace.events_per_track) * kEventBytes * (cores + 2);
}

// The items of one phase of a run.
class Phase {
 public:
  explicit Phase(const TrainingSetup& setup) : setup_(setup) {
    memory_.held = memory_use().resident;
    memory_.processes = comm::current_job().local_count;
  }
  void add(const RunMemory& part) { memory_.add(part); }
  void add(const char* what, int64_t bytes, bool grows = false) {
    if (bytes > 0) memory_.items.push_back({what, bytes, grows});
  }
  RunMemory finish() && {
    const DataFlags& data = setup_.options.data;
    const bool decodes =
        data.synthetic_data == SyntheticData::none && dataset_record(data.dataset).has_views();
    if (decodes) add("decoded images", memory_.threads * kDecodingBytes);
    return std::move(memory_);
  }
  int64_t state() const { return memory_.state; }

 private:
  const TrainingSetup& setup_;
  RunMemory memory_;
};

RunPart validation_part(const TrainingSetup& setup, int64_t batch) {
  return {.mode = RunMode::evaluate,
          .batch_size = batch,
          .fields = setup.data.sets.test.fields(),
          .data_workers = setup.options.data.pipeline_num_parallel};
}

RunMemory while_training(TrainingSetup& setup, const Batches& batches) {
  const TrainOptions& options = setup.options;
  Phase phase(setup);
  phase.add(setup.model.memory_of(training_part(setup, batches.training)));
  phase.add("copies of weights and optimizer slots, checkpoints",
            state_copies(options.checkpoints) * phase.state());
  phase.add("trace", trace_bytes(options));
  if (options.phases.validates_during()) {
    phase.add(setup.model.memory_of(validation_part(setup, batches.validation)));
  }
  return std::move(phase).finish();
}

// The program of training stays.
RunMemory while_validating(TrainingSetup& setup, const Batches& batches) {
  Phase phase(setup);
  if (setup.options.phases.training) {
    RunPart trained = training_part(setup, batches.training);
    trained.prefetch_depth = 0;
    phase.add(setup.model.memory_of(trained));
  }
  RunPart part = validation_part(setup, batches.validation);
  phase.add(setup.model.memory_of(part));
  phase.add("a checkpoint that is read", 2 * phase.state());
  part.prefetch_depth = 0;
  phase.add("class report: program", setup.model.memory_of(part).to_come(), true);
  phase.add("class report: outputs", setup.data.sets.test.size() *
                                         setup.model.network().outputs()[0].shape.elements() *
                                         static_cast<int64_t>(sizeof(float)));
  return std::move(phase).finish();
}

// The phase that takes most.
RunMemory memory_with(TrainingSetup& setup, const Batches& batches) {
  const ValidationFlags& phases = setup.options.phases;
  if (!phases.training) return while_validating(setup, batches);
  RunMemory training = while_training(setup, batches);
  if (!phases.validates()) return training;
  RunMemory validating = while_validating(setup, batches);
  return training.to_come() > validating.to_come() ? training : validating;
}

bool fits(const RunMemory& memory) {
  const std::vector<MemoryLimit> limits = memory_limits();
  return memory.to_come() <= left_for(tightest(limits, memory.need()), memory.need());
}

int64_t growing_bytes(const RunMemory& memory) {
  int64_t bytes = 0;
  for (const MemoryItem& item : memory.items) bytes += item.grows ? item.bytes : 0;
  return bytes;
}

// The share of the growing items that fits; 0 or less: even the fixed items do not fit.
double fitting_share(const RunMemory& memory) {
  const std::vector<MemoryLimit> limits = memory_limits();
  const int64_t growing = growing_bytes(memory);
  const int64_t left = left_for(tightest(limits, memory.need()), memory.need());
  return static_cast<double>(left - (memory.to_come() - growing)) /
         static_cast<double>(std::max<int64_t>(growing, 1));
}

// The largest micro-batch that fits, or 0. Compiles, because slices and kernels change with it.
int64_t fitting_micro_batch(TrainingSetup& setup, const RunMemory& memory) {
  const int64_t given = batches_of(setup.options).training;
  const double share = std::min(fitting_share(memory), 1.0);
  auto batch = static_cast<int64_t>(share * static_cast<double>(given));
  constexpr int kTrials = 6;
  for (int trial = 0; trial < kTrials && batch >= 1; ++trial) {
    if (fits(memory_with(setup, {batch, batch}))) return batch;
    batch = std::min(batch - 1, batch * 3 / 4);
  }
  return 0;
}

// What fits where one value of the network alone is larger than the memory of the machine.
std::string remedy_for_large_values(TrainingSetup& setup) {
  for (int64_t batch = setup.options.micro_batch_size / 2; batch >= 1; batch /= 2) {
    try {
      if (fits(memory_with(setup, {batch, batch}))) {
        return fmt::format("--micro-batch-size {} fits", batch);
      }
    } catch (const ValueOverMemory&) {
      continue;
    }
  }
  return "no micro-batch fits; use smaller pictures (--image-size) or another --model";
}

std::string remedy(TrainingSetup& setup, const RunMemory& memory) {
  const TrainOptions& options = setup.options;
  std::vector<std::string> advice;
  const int64_t batch = fitting_micro_batch(setup, memory);
  advice.push_back(batch > 0 ? fmt::format("--micro-batch-size {} fits", batch)
                             : std::string("no micro-batch fits"));
  const double share = fitting_share(memory) * static_cast<double>(options.micro_batch_size);
  if (batch == 0 && share > 0 && dataset_record(options.data.dataset).has_views()) {
    const auto side = static_cast<double>(setup.data.sets.train.fields()[0].shape[0]);
    const auto fitting = static_cast<int64_t>(side * std::sqrt(share) / 32) * 32;
    if (fitting > 0) {
      advice.push_back(fmt::format("about --image-size {} with --micro-batch-size 1", fitting));
    }
  }
  if (options.prefetch_depth > 1) advice.push_back("--prefetch-depth 1");
  if (!options.precision.half()) advice.push_back("--precision 16.16");
  if (options.devices.recomputation == RecomputationFlag::off && setup.stages() > 1) {
    advice.push_back("--recomputation");
  }
  if (memory.processes > 1) advice.push_back("fewer instances on this machine");
  if (options.phases.training && options.phases.validates()) {
    advice.push_back("--validation false");
  }
  return join(advice, ", ") +
         "; if the limit is wrong, --memory-limit BYTES sets another (docs/guide/training.md)";
}

}  // namespace

std::string check_memory(TrainingSetup& setup) {
  const RunMemory memory = [&] {
    try {
      return memory_with(setup, batches_of(setup.options));
    } catch (const ValueOverMemory& error) {
      throw OverMemoryLimit(error.what(), "; ", remedy_for_large_values(setup));
    }
  }();
  if (!fits(memory)) check_fits(memory, "the run", remedy(setup, memory));
  return to_text(memory, memory_limits());
}

}  // namespace pando::app
