// SPDX-License-Identifier: MIT
#include "pando/compiler/report.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "pando/base/strings.h"

namespace pando::compiler {

namespace {

std::string passes_text(const Program& program) {
  std::string text = "passes\n";
  for (const PassRecord& pass : program.passes()) {
    text += fmt::format("  {:<22} {:<10} {:8.3f} ms\n", pass.name,
                        pass.disabled  ? "disabled"
                        : pass.changed ? "changed"
                                       : "-",
                        pass.seconds * 1e3);
  }
  return text;
}

std::string call_text(const Program& program, const Call& call) {
  const KernelChoice& choice = program.choice(call.node);
  size_t bytes = 0;
  std::string layouts;
  for (const ir::Value* value : call.node->outputs()) bytes += value->bytes();
  for (const ir::Value* value : call.node->inputs()) {
    if (!value->layout().plain()) layouts += " " + value->layout().name;
  }
  std::string text =
      fmt::format("  {:<22} {:<34} {:<26} {:>10}  {}{}\n", call.node->op(), call.node->name(),
                  call.kernel->name(), human_bytes(static_cast<double>(bytes)),
                  layouts.empty() ? "channels-last" : "packed", layouts);
  for (const std::string& refusal : choice.refusals) text += "      refused: " + refusal + "\n";
  return text;
}

std::string size(size_t bytes) { return human_bytes(static_cast<double>(bytes)); }

std::string rounding_text(const HalfOptions& half) {
  std::string text = half.stochastic_rounding == StochasticRounding::off ? "rounding to nearest"
                                                                         : "stochastic rounding";
  if (half.stochastic_rounding == StochasticRounding::replica_identical_only) {
    text += " in weight updates";
  }
  text += half.nan_on_overflow ? ", not-a-number on overflow" : ", overflow saturates";
  return text + (half.half_partials ? ", half partials" : "");
}

// What the values of one slice are stored in.
std::string types_text(const Program& program) {
  const CompileOptions& options = program.options();
  std::map<DType, std::pair<int, size_t>> types;
  int casts = 0;
  const auto count = [&](const ir::Value* value) {
    auto& [values, bytes] = types[value->type().dtype];
    ++values;
    bytes += value->bytes();
  };
  for (const ir::Value* input : program.graph().inputs()) count(input);
  for (const Call& call : program.calls()) {
    for (const ir::Value* value : call.node->outputs()) count(value);
    casts += call.node->op() == "cast" ? 1 : 0;
  }
  std::string text = "precision: " + to_string(options.precision);
  if (options.precision.half()) text += ", " + rounding_text(options.half);
  std::vector<std::string> rows;
  for (const auto& [type, entry] : types) {
    rows.push_back(fmt::format("{} of {} ({})", entry.first, to_string(type), size(entry.second)));
  }
  return fmt::format("{}\n  values: {}; {} cast{}\n", text, join(rows, ", "), casts,
                     casts == 1 ? "" : "s");
}

// One row per stage: what one slice of one micro-batch takes.
std::string stages_text(const MemoryPlan& plan) {
  std::string text = fmt::format("  {:<6} {:>12} {:>12} {:>14} {:>12} {:>12}\n", "stage", "working",
                                 "sums", "held per m-b", "gradients", "statistics");
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    const StageMemory& stage = plan.stages[i];
    text += fmt::format("  {:<6} {:>12} {:>12} {:>14} {:>12} {:>12}\n", i, size(stage.activations),
                        size(stage.sums), size(stage.held_activations + stage.held_sums),
                        size(stage.gradients), size(stage.moments));
  }
  return text;
}

std::string memory_text(const Program& program) {
  const MemoryPlan& plan = program.memory();
  const size_t planned = plan.planned_bytes();
  return fmt::format(
      "memory of one slice: {}, sum of all tensors {} ({:.0f} %)\n{}"
      "blocks of activations {}; packed variables {}, scratch of a worker {}, {} buckets of "
      "gradients\n",
      size(planned), size(plan.unshared_bytes),
      plan.unshared_bytes == 0
          ? 0.0
          : 100.0 * static_cast<double>(planned) / static_cast<double>(plan.unshared_bytes),
      stages_text(plan),
      program.in_parts()      ? "for all slices"
      : program.depth_first() ? "per worker"
                              : "per slice",
      size(plan.packed_bytes), size(program.scratch_bytes()), plan.buckets.size());
}

}  // namespace

std::string compile_report(const Program& program) {
  std::string text = passes_text(program) + types_text(program);
  size_t segments = 0;
  for (const Section& section : program.sections()) segments += section.segments.size();
  text += fmt::format(
      "division: {} {}, {} stages, {} segments per step\ncalls (results in bytes per "
      "slice)\n",
      program.slices(), program.in_parts() ? "parts of each call" : "slices of the micro-batch",
      program.stages(), segments);
  int slow = 0;
  for (const Call& call : program.calls()) {
    text += call_text(program, call);
    slow += program.choice(call.node).candidate == "reference" &&
                    kernels::candidates(call.node->op()).size() > 1
                ? 1
                : 0;
  }
  if (slow > 0)
    text += fmt::format("  warning: {} calls fell back to the slow reference kernel\n", slow);
  return text + memory_text(program);
}

}  // namespace pando::compiler
