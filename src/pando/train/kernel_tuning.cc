// The kernels of training: chosen by measurement, or as other instances and earlier runs chose.
// SPDX-License-Identifier: MIT
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

// Only tune() measures: programs that are compiled before it, to count memory, use the fixed order.
std::unique_ptr<runtime::Tuner> Model::Impl::make_tuner(RunMode mode,
                                                        const train::SliceDivision& division) {
  if (mode != RunMode::train || !compile_options) return nullptr;
  const ExecutionOptions& execution = compile_options->execution;
  if (!may_measure_ || execution.tuning == Tuning::off || execution.reference_kernels) {
    return nullptr;
  }
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
  if (!tuned_.emplace(batch, to_string(fields), frozen).second) return;
  // It may have been compiled with the fixed order, to count memory.
  programs_.erase({RunMode::train, batch, to_string(fields)});
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
  if (compiled().execution.tuning == Tuning::off) return;
  if (job.communicator == nullptr) return tune(batch, fields);
  if (!agreed_.emplace(batch, to_string(fields), frozen).second) return;
  std::exception_ptr failure;
  if (job.is_first()) {
    try {
      tune(batch, fields);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  const std::string own = Json(compiled().execution.kernel_choices).dump();
  const std::string text = comm::broadcast_text(*job.communicator, own);
  KernelChoices first = Json::parse(text).get<KernelChoices>();
  if (failure) std::rethrow_exception(failure);
  const Tuning tuning = compiled().execution.tuning;
  set_kernel_choices(std::move(first));
  compiled().execution.tuning = tuning;  // for other batch sizes
}

// Choices may come from a processor with other instructions.
void Model::Impl::note_unavailable_kernels(const compiler::Program& program) {
  for (const compiler::Call& call : program.calls()) {
    const compiler::KernelChoice& choice = program.choice(call.node);
    if (!choice.decision || choice.decision->candidate == choice.candidate) continue;
    unavailable_kernels_.insert(concat(call.node->label(), ": kernel '", choice.decision->candidate,
                                       "' is not available here; '", choice.candidate,
                                       "' computes it"));
  }
}

std::vector<std::string> Model::Impl::unused_kernel_choices() const {
  std::vector<std::string> unused(unavailable_kernels_.begin(), unavailable_kernels_.end());
  for (const auto& [key, candidate] : compile_options->execution.kernel_choices) {
    if (!decisions_.contains(key)) unused.push_back(concat(key, ": no such layer is trained"));
  }
  return unused;
}

void Model::Impl::set_kernel_choices(KernelChoices choices) {
  ExecutionOptions& execution = compiled().execution;
  execution.tuning = Tuning::off;
  if (execution.kernel_choices == choices) return;
  execution.kernel_choices = std::move(choices);
  decisions_.clear();
  unavailable_kernels_.clear();
  drop_programs(RunMode::train);
}

}  // namespace pando
