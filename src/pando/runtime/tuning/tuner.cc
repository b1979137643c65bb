// SPDX-License-Identifier: MIT
#include "pando/runtime/tuning/tuner.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/base/memory_limit.h"
#include "pando/base/strings.h"
#include "pando/runtime/tuning/kernel_error.h"
#include "pando/runtime/tuning/kernel_timer.h"

namespace pando::runtime {
namespace {

using compiler::KernelDecision;
using compiler::KernelOption;
using compiler::KernelTime;
using compiler::TunableLayer;

// The part of the table's time that another candidate may take at most to replace it.
constexpr double kClearWin = 0.95;

// Kernels of a library; only Tuning::full times them.
constexpr const char* kForeign = "onednn";

bool is_timed(const ir::Node& node) {
  return std::ranges::all_of(node.inputs(), [](const ir::Value* value) {
    const DType dtype = value->type().dtype;
    return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
  });
}

KernelDecision decision_by(std::vector<KernelTime> times, const std::string& table) {
  KernelDecision decision{.candidate = table, .table = table, .times = std::move(times)};
  const KernelTime* usual = decision.time_of(table);
  if (usual == nullptr) return decision;
  const auto fastest = std::ranges::min_element(decision.times, {}, &KernelTime::seconds);
  if (fastest->seconds <= kClearWin * usual->seconds) decision.candidate = fastest->candidate;
  return decision;
}

}  // namespace

std::string to_text(Tuning tuning, const TuningSummary& summary) {
  const double gain =
      summary.table_seconds > 0 ? 1 - summary.chosen_seconds / summary.table_seconds : 0;
  const std::string layers = counted(summary.layers, "different layer");
  const std::string timed =
      summary.timed == 0
          ? layers + " timed earlier"
          : fmt::format("{}{} timed in {:.1f} s",
                        summary.timed < summary.layers ? fmt::format("{} of ", summary.timed) : "",
                        layers, summary.seconds);
  const std::string changed = summary.changed == 1
                                  ? std::string("1 choice differs")
                                  : fmt::format("{} choices differ", summary.changed);
  return fmt::format(
      "--tune {}: {}, {} from the table; expected gain {:.1f} % of the {:.1f} ms of such layers",
      to_string(tuning), timed, changed, 100 * gain, 1e3 * summary.table_seconds);
}

Tuner::Tuner(TunerOptions options)
    : options_(std::move(options)),
      file_(options_.folder, options_.machine, options_.tell),
      begin_(options_.seconds()),
      kept_(file_.read()) {}

// A choice that was made with another table, less carefully, or for a kernel that is not available
// here is made again.
const KeptDecision* Tuner::known(const TunableLayer& layer) const {
  const auto found = kept_.find(layer.key);
  if (found == kept_.end() || found->second.decision.table != layer.table) return nullptr;
  if (!found->second.full && options_.tuning == Tuning::full) return nullptr;
  const std::string& candidate = found->second.decision.candidate;
  if (candidate == layer.table) return &found->second;
  const std::vector<KernelOption> options = layer.options();
  const bool is_available =
      std::ranges::find(options, candidate, &KernelOption::candidate) != options.end();
  return is_available ? &found->second : nullptr;
}

const KeptDecision* Tuner::measured(const TunableLayer& layer) {
  if (without_choice_.contains(layer.key) || !is_timed(layer.node)) return nullptr;
  std::vector<KernelOption> options = layer.options();
  if (options_.tuning == Tuning::quick) {
    std::erase_if(options, [&](const KernelOption& option) {
      return option.candidate == kForeign && option.candidate != layer.table;
    });
  }
  const bool has_table =
      std::ranges::find(options, layer.table, &KernelOption::candidate) != options.end();
  if (options.size() < 2 || !has_table) {
    without_choice_.insert(layer.key);
    return nullptr;
  }
  try {
    kept_[layer.key] = {.decision = decision_by(options_.measure(layer, options), layer.table),
                        .full = options_.tuning == Tuning::full};
  } catch (const OverMemoryLimit& error) {
    options_.tell(concat(layer.node.label(), ": ", error.what(), "; it keeps its kernel"));
    without_choice_.insert(layer.key);
    return nullptr;
  }
  return &kept_.at(layer.key);
}

const KernelDecision* Tuner::decide(const TunableLayer& layer) {
  auto used = used_.find(layer.key);
  if (used == used_.end()) {
    const KeptDecision* kept = known(layer);
    const bool is_new = kept == nullptr;
    if (is_new) kept = measured(layer);
    if (kept == nullptr) return nullptr;
    used = used_.emplace(layer.key, *kept).first;
    count(kept->decision, is_new);
  }
  const KernelDecision& decision = used->second.decision;
  const KernelTime* table = decision.time_of(decision.table);
  const KernelTime* chosen = decision.time_of(decision.candidate);
  if (table != nullptr && chosen != nullptr) {
    summary_.table_seconds += table->seconds;
    summary_.chosen_seconds += chosen->seconds;
  }
  return &decision;
}

void Tuner::count(const KernelDecision& decision, bool is_new) {
  ++summary_.layers;
  if (is_new) ++summary_.timed;
  if (decision.candidate != decision.table) ++summary_.changed;
}

TuningSummary Tuner::finish() {
  if (summary_.timed > 0) file_.write(kept_);
  summary_.seconds = options_.seconds() - begin_;
  return summary_;
}

std::vector<KernelTime> measure_kernels(const TunableLayer& layer,
                                        const std::vector<KernelOption>& options, WorkerTeam& team,
                                        const MeterOptions& how) {
  const bool full = how.tuning == Tuning::full;
  std::vector<KernelTime> times = time_kernels(layer.node, options, team,
                                               {.rounds = full ? 10 : 4,
                                                .fewest_rounds = full ? 3 : 1,
                                                .round_seconds = full ? 0.01 : 0.003,
                                                .parts = how.parts,
                                                .calls_per_update = how.calls_per_update,
                                                .table = layer.table});
  std::vector<std::string> names;
  for (const KernelOption& option : options) names.push_back(option.candidate);
  const std::vector<double> errors = kernel_errors(layer.node, names);
  for (size_t i = 0; i < times.size(); ++i) times[i].error = errors[i];
  return times;
}

}  // namespace pando::runtime
