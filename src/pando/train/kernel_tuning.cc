// The kernels of training: chosen by measurement, or as other instances and earlier runs chose.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "pando/base/clock.h"
#include "pando/base/cpu.h"
#include "pando/base/json.h"
#include "pando/base/strings.h"
#include "pando/comm/collectives.h"
#include "pando/runtime/machine/device_set.h"
#include "pando/train/model_impl.h"

namespace pando {
namespace {

Json to_json(const KernelChoices& choices) { return Json(choices); }

KernelChoices choices_of(const std::string& text) { return Json::parse(text).get<KernelChoices>(); }

}  // namespace

// With several instances, only tune_together() measures: programs that are compiled before it, to
// count memory, use the fixed order.
std::unique_ptr<runtime::Tuner> Model::Impl::make_tuner(RunMode mode,
                                                        const train::SliceDivision& division) {
  if (mode != RunMode::train || !compile_options) return nullptr;
  const ExecutionOptions& execution = compile_options->execution;
  const bool is_alone = job.communicator == nullptr || may_measure_;
  if (execution.tuning == Tuning::off || execution.reference_kernels || !is_alone) return nullptr;
  runtime::WorkerTeam& team = workers();
  const bool parts = division.division == compiler::Division::parts;
  const int own = team.workers_of(0);
  const int slices = parts ? 1 : (division.slices + own - 1) / own;
  const runtime::MeterOptions meter{
      .tuning = execution.tuning,
      .parts = parts ? division.slices : 0,
      .calls_per_update = static_cast<double>(slices) * accumulation.steps_per_replica};
  const auto start = std::chrono::steady_clock::now();
  return std::make_unique<runtime::Tuner>(runtime::TunerOptions{
      .tuning = execution.tuning,
      .folder = execution.tuning_folder.value_or(runtime::default_tuning_folder()),
      .machine = {.processor = runtime::topology_of(job).cpu_model,
                  .isa = isa_name(),
                  .version = PANDO_VERSION,
                  .threads = team.size()},
      .measure =
          [&team, meter](const auto& layer, const auto& candidates) {
            return runtime::measure_kernels(layer, candidates, team, meter);
          },
      .seconds = [start] { return seconds_since(start); },
      .tell = [this](const std::string& line) { tuning_lines.push_back(line); }});
}

const compiler::KernelDecision* Model::Impl::decide(const compiler::TunableLayer& layer,
                                                    runtime::Tuner* tuner) {
  const auto known = decisions_.find(layer.key);
  if (known != decisions_.end()) return &known->second;
  const KernelChoices& given = compiled().execution.kernel_choices;
  const auto choice = given.find(layer.key);
  if (choice != given.end()) {
    compiler::KernelDecision decision{.candidate = choice->second, .table = layer.table};
    return &decisions_.emplace(layer.key, std::move(decision)).first->second;
  }
  return tuner == nullptr ? nullptr : tuner->decide(layer);
}

void Model::Impl::end_tuning(runtime::Tuner& tuner) {
  const runtime::TuningSummary summary = tuner.finish();
  for (const auto& [key, kept] : tuner.decisions()) {
    decisions_[key] = kept.decision;
    if (kept.decision.candidate != kept.decision.table) {
      compiled().execution.kernel_choices[key] = kept.decision.candidate;
    }
  }
  if (summary.layers > 0) {
    tuning_lines.push_back(runtime::to_text(compiled().execution.tuning, summary));
  }
}

void Model::Impl::tune(int64_t batch, const std::vector<Field>& fields) {
  if (compiled().execution.tuning == Tuning::off) return;
  // In a job the program was first compiled with the fixed order.
  if (job.communicator != nullptr) programs_.erase({RunMode::train, batch, to_string(fields)});
  may_measure_ = true;
  try {
    plan(RunMode::train, batch, fields);
  } catch (...) {
    may_measure_ = false;
    throw;
  }
  may_measure_ = false;
}

// Instance 0 sends its choices also after a failure, so that the others do not wait for them.
void Model::Impl::tune_together(int64_t batch, const std::vector<Field>& fields) {
  if (compiled().execution.tuning == Tuning::off || job.communicator == nullptr) return;
  if (!tuned_.emplace(batch, to_string(fields)).second) return;
  std::exception_ptr failure;
  if (job.is_first()) {
    try {
      tune(batch, fields);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  const std::string own = to_json(compiled().execution.kernel_choices).dump();
  KernelChoices first = choices_of(comm::broadcast_text(*job.communicator, own));
  if (failure) std::rethrow_exception(failure);
  const Tuning tuning = compiled().execution.tuning;
  set_kernel_choices(std::move(first));
  compiled().execution.tuning = tuning;  // for other batch sizes
}

void Model::Impl::set_kernel_choices(KernelChoices choices) {
  ExecutionOptions& execution = compiled().execution;
  execution.tuning = Tuning::off;
  if (execution.kernel_choices == choices) return;
  execution.kernel_choices = std::move(choices);
  decisions_.clear();
  drop_programs(RunMode::train);
}

}  // namespace pando
