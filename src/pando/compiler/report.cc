// SPDX-License-Identifier: MIT
#include "pando/compiler/report.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "pando/base/strings.h"
#include "pando/compiler/layer_names.h"

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

// The types in which the values of one slice are stored.
std::string types_text(const Program& program) {
  const ProgramOptions& options = program.options();
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

double mega(double flops) { return flops / 1e6; }

std::string or_dash(bool shown, const std::string& text) { return shown ? text : "-"; }

std::string work(double flops) { return or_dash(flops > 0, fmt::format("{:.3f}", mega(flops))); }

// The name without "/grad", since the heading already says backward.
std::string short_name(const OpReport& op) {
  const size_t slash = op.name.rfind('/');
  return LayerNames::is_backward(op.name) ? op.name.substr(0, slash) : op.name;
}

std::string kernel_text(const OpReport& op) {
  return op.tiles == 1 ? op.kernel : concat(op.kernel, " in ", op.tiles, " tiles");
}

// Columns are as wide as their contents, so that a line with common names fits in 100 columns.
struct OpColumns {
  size_t op = 2;
  size_t node = 4;
  size_t kernel = 6;

  explicit OpColumns(const std::vector<OpReport>& ops) {
    for (const OpReport& row : ops) {
      op = std::max(op, row.op.size());
      node = std::max(node, short_name(row).size());
      kernel = std::max(kernel, kernel_text(row).size());
    }
  }
};

// "direct 0.120 ms, error 3.2e-07; winograd 0.130 ms": the chosen kernel first.
std::string timed_text(const std::vector<KernelTime>& times) {
  std::vector<std::string> texts;
  for (const KernelTime& time : times) {
    texts.push_back(fmt::format("{} {:.3f} ms{}", time.candidate, time.seconds * 1e3,
                                time.error < 0 ? "" : fmt::format(", error {:.1e}", time.error)));
  }
  return join(texts, "; ");
}

std::string op_text(const OpReport& op, const OpColumns& columns) {
  const std::string flops = or_dash(op.flops > 0, fmt::format("{:.2f}", mega(op.flops)));
  std::string text =
      fmt::format("  {:>3} {:<{}} {:<{}} {:<{}} {:>8} {:>9} {:>9}\n", op.call, op.op, columns.op,
                  short_name(op), columns.node, kernel_text(op), columns.kernel, flops,
                  size(op.bytes_read), size(op.bytes_written));
  if (!op.layouts.empty()) {
    text += fmt::format("      packed: {}\n", join(op.layouts, ", "));
  }
  if (!op.timed.empty()) text += "      timed: " + timed_text(op.timed) + "\n";
  if (!op.given.empty()) text += "      given: " + op.given + "\n";
  for (const std::string& refusal : op.refusals) text += "      refused: " + refusal + "\n";
  return text;
}

std::string part_heading(const Program& program, const OpReport& op) {
  if (op.part == StepPart::prologue) return "prologue, before the first step of a weight update";
  const std::string part = to_string(op.part);
  return program.pipelined() ? fmt::format("{} of stage {}", part, op.stage) : part;
}

// Lists the calls in the order in which they run: the prologue first.
std::string ops_text(const CompilationReport& report) {
  const Program& program = *report.program;
  const OpColumns columns(report.ops);
  std::string text = fmt::format(
      "calls: work and bytes of {}, activations channels-last\n"
      "  {:>3} {:<{}} {:<{}} {:<{}} {:>8} {:>9} {:>9}\n",
      program.in_parts() ? "all parts" : fmt::format("a slice of {} samples", report.slice_batch),
      "#", "op", columns.op, "node", columns.node, "kernel", columns.kernel, "MFLOP", "read",
      "written");
  std::string heading;
  int slow = 0;
  for (const bool prologue : {true, false}) {
    for (const OpReport& op : report.ops) {
      if ((op.part == StepPart::prologue) != prologue) continue;
      const std::string now = part_heading(program, op);
      if (now != heading) text += "  -- " + now + "\n";
      heading = now;
      text += op_text(op, columns);
      slow += op.slow ? 1 : 0;
    }
  }
  if (slow > 0) {
    text += fmt::format("  warning: {} calls fell back to the slow reference kernel\n", slow);
  }
  return text;
}

std::string layers_text(const CompilationReport& report) {
  const auto samples = static_cast<double>(report.slice_batch);
  const double all = std::max(report.flops(), 1e-9);
  std::string text = fmt::format(
      "layers: MFLOP of a sample, bytes kept for backward of {}\n"
      "  {:<26} {:>5} {:>4} {:>9} {:>9} {:>6} {:>11} {:>10} {:>10}\n",
      report.program->in_parts() ? "all parts" : "a slice", "layer", "stage", "ops", "forward",
      "backward", "%", "weights", "bytes", "kept");
  for (const LayerReport& row : report.layers) {
    const double forward = row.forward_flops / samples;
    const double backward = row.backward_flops / samples;
    text += fmt::format(
        "  {:<26} {:>5} {:>4} {:>9} {:>9} {:>6} {:>11} {:>10} {:>10}\n", row.layer, row.stage,
        row.ops, work(forward), work(backward),
        or_dash(forward + backward > 0, fmt::format("{:.1f}", 100 * (forward + backward) / all)),
        or_dash(row.weights > 0, with_thousands(row.weights)),
        or_dash(row.weight_bytes > 0, size(row.weight_bytes)),
        or_dash(row.kept_bytes > 0, size(row.kept_bytes)));
  }
  const auto steps = std::ranges::count_if(
      report.ops, [](const OpReport& op) { return op.part != StepPart::prologue; });
  return text + fmt::format("  {:<26} {:>5} {:>4} {:>9.3f} {:>9.3f}\n", "all", "", steps,
                            mega(report.flops(StepPart::forward)),
                            mega(report.flops(StepPart::backward)));
}

// One row per stage: the memory of one slice of one micro-batch.
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

std::string percent(size_t part, size_t whole) {
  const auto bytes = static_cast<double>(whole);
  return fmt::format("{:.0f} %", whole == 0 ? 0 : 100 * static_cast<double>(part) / bytes);
}

std::string peak_text(const CompilationReport& report, const StageMap& stage) {
  if (stage.bytes == 0) return "";
  constexpr size_t kMostShown = 6;
  const OpReport& op = report.ops[static_cast<size_t>(stage.peak_call)];
  std::string text = fmt::format(
      "working memory of stage {}: {}; at most {} ({}) live, at call {}:\n    {} '{}'\n",
      stage.stage, size(stage.bytes), size(stage.peak_bytes),
      percent(stage.peak_bytes, stage.bytes), stage.peak_call, op.op, op.name);
  const auto live = live_at(report.memory, stage.stage, stage.peak_call);
  for (size_t i = 0; i < std::min(live.size(), kMostShown); ++i) {
    text += fmt::format("    {:>10}  {}\n", size(live[i]->bytes), describe(*live[i]));
  }
  if (live.size() > kMostShown) {
    size_t rest = 0;
    for (size_t i = kMostShown; i < live.size(); ++i) rest += live[i]->bytes;
    text += fmt::format("    {:>10}  {} more\n", size(rest), live.size() - kMostShown);
  }
  return text;
}

std::string memory_text(const CompilationReport& report) {
  const Program& program = *report.program;
  const MemoryPlan& plan = program.memory();
  const AlwaysLive& live = report.always_live;
  std::string text = fmt::format(
      "memory of one slice: {}, sum of all tensors {} ({})\n{}"
      "blocks of activations {}; packed variables {}, scratch of a worker {},\n"
      "{} buckets of gradients\n",
      size(plan.planned_bytes()), size(plan.unshared_bytes),
      percent(plan.planned_bytes(), plan.unshared_bytes), stages_text(plan),
      program.in_parts()      ? "for all slices"
      : program.depth_first() ? "per worker"
                              : "per slice",
      size(plan.packed_bytes), size(program.scratch_bytes()), plan.buckets.size());
  text += fmt::format(
      "always live: weights {}, packed {}; per slice: gradients {},\nstatistics {}, held {}\n",
      size(live.weights), size(live.packed), size(live.gradients), size(live.statistics),
      size(live.held));
  for (const StageMap& stage : report.memory.stages) {
    text += peak_text(report, stage);
    text += memory_picture(program, report.memory, stage.stage);
  }
  return text;
}

// Lists every block, by region, stage and offset.
std::string blocks_text(const MemoryMap& map) {
  std::string text = fmt::format(
      "memory map: where every value lies, and in which calls it lives\n"
      "  {:>11} {:>10}  {:<9}  {}\n",
      "offset", "bytes", "calls", "holds");
  std::string heading;
  for (const MemoryBlock& block : map.blocks) {
    const std::string now =
        block.region == Region::packed
            ? to_string(block.region)
            : fmt::format("{} of stage {}", to_string(block.region), block.stage);
    if (now != heading) text += "  -- " + now + "\n";
    heading = now;
    const std::string calls = fmt::format("{}-{}", std::max(block.first, 0), block.last);
    const size_t more = block.values.size() - 1;
    text += fmt::format("  {:>11} {:>10}  {:<9}  {}{}\n", block.offset, size(block.bytes), calls,
                        describe(block), more == 0 ? "" : fmt::format(" and {} in place", more));
  }
  return text;
}

std::string division_text(const CompilationReport& report) {
  const Program& program = *report.program;
  size_t segments = 0;
  for (const Section& section : program.sections()) segments += section.segments.size();
  return fmt::format(
      "division: {} {}, {} stages, {} segments per step\n"
      "work: {:.2f} MFLOP per sample ({:.2f} forward, {:.2f} backward)\n",
      program.slices(), program.in_parts() ? "parts of each call" : "slices of the micro-batch",
      program.stages(), segments, mega(report.flops()), mega(report.flops(StepPart::forward)),
      mega(report.flops(StepPart::backward)));
}

}  // namespace

std::string to_text(const CompilationReport& report, ReportDetail detail) {
  const Program& program = *report.program;
  return passes_text(program) + types_text(program) + division_text(report) + ops_text(report) +
         layers_text(report) + memory_text(report) +
         (detail.blocks ? blocks_text(report.memory) : "");
}

std::string compile_report(const Program& program, const std::vector<std::string>& layers) {
  return to_text(compilation_report(program, layers));
}

}  // namespace pando::compiler
