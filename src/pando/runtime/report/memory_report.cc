// SPDX-License-Identifier: MIT
#include "pando/runtime/report/memory_report.h"

#include <algorithm>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/base/json.h"
#include "pando/base/memory_limit.h"
#include "pando/base/strings.h"

namespace pando::runtime {

namespace {

std::string size(size_t bytes) { return human_bytes(static_cast<double>(bytes)); }

std::string device_rows(const compiler::Program& program, const Placement& placement, int workers) {
  std::string text =
      fmt::format("  {:<7} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11}  {}\n", "device", "total",
                  "working", "held", "gradients", "sums", "scratch", "stages");
  for (int device = 0; device < placement.devices_per_replica(program.stages()); ++device) {
    const DeviceLoad load = device_load(program, placement, device, workers);
    const MemoryUse use = memory_use(program, load);
    std::vector<std::string> stages;
    for (const int stage : load.stages) stages.push_back(std::to_string(stage));
    text += fmt::format("  {:<7} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11}  {}\n", device,
                        size(use.total()), size(use.activations), size(use.held),
                        size(use.gradients), size(use.sums), size(use.scratch), join(stages, " "));
  }
  return text;
}

std::string stage_rows(const compiler::Program& program, const Placement& placement) {
  if (!program.pipelined()) return "";
  const std::vector<int> held = held_micro_batches(program, placement);
  const auto slices = static_cast<size_t>(program.slices());
  std::string text = fmt::format("  {:<7} {:>20} {:>14} {:>11}\n", "stage", "micro-batches held",
                                 "each", "in all");
  for (size_t stage = 0; stage < held.size(); ++stage) {
    const compiler::StageMemory& memory = program.memory().stages[stage];
    const size_t each =
        memory.held_activations * (program.in_parts() ? 1 : slices) + memory.held_sums * slices;
    text += fmt::format("  {:<7} {:>20} {:>14} {:>11}\n", stage, held[stage], size(each),
                        size(each * static_cast<size_t>(held[stage])));
  }
  return text;
}

// The options that reduce the largest items.
std::string advice(const compiler::Program& program, const Placement& placement,
                   const MemoryUse& use) {
  std::vector<std::string> advice = {"a smaller micro-batch"};
  const bool recomputes = program.options().recomputation != compiler::Recomputation::none;
  if (program.pipelined()) {
    std::vector<std::string> smaller;  // schedules that have less in flight
    for (const ScheduleRecord& record : schedules()) {
      if (&record > &record_of(placement.schedule)) smaller.emplace_back(record.name);
    }
    if (!smaller.empty()) advice.push_back(concat("the ", join(smaller, " or "), " schedule"));
  }
  // Recomputation holds less between sections but needs more within one.
  if (!recomputes && use.held > 2 * use.activations) advice.push_back("recomputation");
  if (recomputes && use.activations > use.held) advice.push_back("no recomputation");
  if (!program.options().precision.half()) advice.emplace_back("precision 16.16 instead of 32.32");
  if (!program.pipelined()) advice.push_back("pipeline stages on several devices");
  if (program.slices() > 1 && use.gradients > use.total() / 4) advice.push_back("fewer slices");
  return join(advice, ", ");
}

}  // namespace

std::string memory_report(const compiler::Program& program, const Placement& placement,
                          int workers) {
  return fmt::format(
             "memory of the devices of one replica ({} replica{}, {} worker{} per device),\n"
             "without weights, packed weights and optimizer state, which replicas share\n",
             placement.replicas, placement.replicas == 1 ? "" : "s", workers,
             workers == 1 ? "" : "s") +
         device_rows(program, placement, workers) + stage_rows(program, placement);
}

std::string memory_report_json(const compiler::Program& program, const Placement& placement,
                               int workers) {
  Json rows = Json::array();
  for (int device = 0; device < placement.devices_per_replica(program.stages()); ++device) {
    const DeviceLoad load = device_load(program, placement, device, workers);
    const MemoryUse use = memory_use(program, load);
    rows.push_back({{"device", device},
                    {"stages", load.stages},
                    {"held_micro_batches", load.held},
                    {"workers", workers},
                    {"total_bytes", use.total()},
                    {"working_bytes", use.activations},
                    {"held_bytes", use.held},
                    {"gradient_bytes", use.gradients},
                    {"sum_bytes", use.sums},
                    {"scratch_bytes", use.scratch}});
  }
  return rows.dump(1);
}

void check_budget(const compiler::Program& program, const Placement& placement, int workers,
                  size_t budget) {
  for (int device = 0; device < placement.devices_per_replica(program.stages()); ++device) {
    const MemoryUse use = memory_use(program, device_load(program, placement, device, workers));
    if (use.total() <= budget) continue;
    throw OverMemoryLimit("the program needs ", size(use.total()), " on device ", device,
                          ", the budget is ", size(budget), "\n",
                          memory_report(program, placement, workers),
                          "  what would help: ", advice(program, placement, use));
  }
}

}  // namespace pando::runtime
