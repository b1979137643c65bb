// The execution report as text.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "pando/compiler/layer_names.h"
#include "pando/runtime/report/execution_report.h"

namespace pando::runtime {

namespace {

using compiler::CompilationReport;
using compiler::OpReport;

const OpReport& op_of(const CompilationReport& compilation, const OpTime& time) {
  return compilation.ops[static_cast<size_t>(time.call)];
}

std::string rate(const Spent& spent) {
  return spent.flops > 0 ? fmt::format("{:.1f}", spent.gflops()) : "-";
}

std::string peak_percent(const ExecutionReport& report, const Spent& spent) {
  if (spent.flops <= 0 || report.peak.threads == 0) return "-";
  return fmt::format("{:.0f}", 100 * report.peak_fraction(spent));
}

double per_step_ms(const ExecutionReport& report, double seconds) {
  const auto steps = static_cast<double>(std::max<int64_t>(report.steps, 1));
  return 1e3 * seconds / steps;
}

std::string step_time(const ExecutionReport& report, const Spent& spent) {
  return spent.seconds > 0 ? fmt::format("{:.4f}", per_step_ms(report, spent.seconds)) : "-";
}

std::string plural(int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string coverage_text(const ExecutionReport& report) {
  std::string text =
      fmt::format("covers {:.3f} s of {}: {} of {}, {}{}\n", report.span_seconds,
                  plural(report.workers, "worker"), plural(report.steps, "step"),
                  plural(report.replicas, "replica"), plural(report.samples, "sample"),
                  report.trains ? ", " + plural(report.updates, "weight update") : std::string());
  if (report.padding > 0) {
    text += fmt::format("micro-batches were padded by {}, which only the figures of ops include\n",
                        plural(report.padding, "row"));
  }
  if (report.dropped == 0) return text;
  const int64_t all = report.events + report.dropped;
  return text + fmt::format(
                    "the trace was full then: {} of {} events ({:.0f} %) were recorded; the "
                    "figures do not\ninclude later events\n",
                    report.events, all,
                    100 * static_cast<double>(report.events) / static_cast<double>(all));
}

std::string headline_text(const ExecutionReport& report) {
  const Spent all = report.whole();
  std::string text =
      fmt::format("  {:.1f} steps/s, {:.1f} samples/s, {:.1f} GF/s",
                  report.per_second(report.steps), report.per_second(report.samples), all.gflops());
  if (report.peak.threads > 0) {
    text += fmt::format("\n  {:.1f} % of the peak of the cores: {:.1f} GF/s, {} threads with {}",
                        100 * all.gflops() / report.peak.gflops, report.peak.gflops,
                        report.peak.threads, report.peak.isa);
    if (report.peak.memory_rate > 0) {
      text += fmt::format("; memory {:.1f} GB/s", report.peak.memory_rate);
    }
  }
  text += fmt::format("\n  workers busy {:.1f} %", 100 * report.busy_share());
  if (report.trains) {
    text += fmt::format(" (weight update {:.1f} %)", 100 * report.share(Phase::update));
  }
  return text +
         fmt::format(", feed wait {:.1f} %, other waits {:.1f} %, outside {:.1f} %\n",
                     100 * report.share(Phase::feed_wait),
                     100 * (report.share(Phase::data_wait) + report.share(Phase::barrier_wait) +
                            report.share(Phase::exchange_wait)),
                     100 * report.share(Phase::outside));
}

std::string phases_text(const ExecutionReport& report) {
  std::string text = fmt::format(
      "phases: times summed over the workers, rates of one worker\n"
      "  {:<26} {:>11} {:>12} {:>7} {:>8} {:>7} {:>7}\n",
      "phase", "seconds", "ms per step", "%", "GF/s", "% peak", "GB/s");
  for (size_t i = 0; i < kPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    const double seconds = report.seconds_of(phase);
    if (seconds <= 0) continue;
    const Spent spent = phase == Phase::forward    ? report.forward
                        : phase == Phase::backward ? report.backward
                        : phase == Phase::update   ? report.update
                                                   : Spent{};
    text += fmt::format("  {:<26} {:>11.4f} {:>12.4f} {:>7.1f} {:>8} {:>7} {:>7}\n",
                        to_string(phase), seconds, per_step_ms(report, seconds),
                        100 * report.share(phase), rate(spent), peak_percent(report, spent),
                        spent.bytes > 0 ? fmt::format("{:.1f}", spent.gbytes()) : "-");
  }
  const bool beyond = std::any_of(report.ops.begin(), report.ops.end(), [&](const OpTime& op) {
    return report.peak_fraction(op.spent) > 1;
  });
  if (beyond) {
    text +=
        "  (some kernels, such as Winograd's, multiply less than is counted and can exceed 100 "
        "%)\n";
  }
  if (report.other_seconds > 0) {
    text += fmt::format("  including ops of other programs {:.4f} s\n", report.other_seconds);
  }
  return text;
}

std::string layers_text(const ExecutionReport& report) {
  std::string text = fmt::format(
      "layers\n  {:<26} {:>5} {:>10} {:>10} {:>6} {:>8} {:>7} {:>8} {:>7}\n", "ms per step",
      "stage", "forward", "backward", "%", "fw GF/s", "% peak", "bw GF/s", "% peak");
  for (const LayerTime& row : report.layers) {
    text += fmt::format(
        "  {:<26} {:>5} {:>10} {:>10} {:>6.1f} {:>8} {:>7} {:>8} {:>7}\n", row.layer, row.stage,
        step_time(report, row.forward), step_time(report, row.backward),
        100 * report.share(row.forward.seconds + row.backward.seconds), rate(row.forward),
        peak_percent(report, row.forward), rate(row.backward), peak_percent(report, row.backward));
  }
  return text;
}

// Without the suffix "/grad": the letter before the name says the same.
std::string place_of(const OpReport& op) {
  const bool backward = op.part == compiler::StepPart::backward;
  const bool named = compiler::LayerNames::is_backward(op.name);
  return (backward ? "b " : "f ") + (named ? op.name.substr(0, op.name.rfind('/')) : op.name);
}

std::string ops_text(const ExecutionReport& report, const CompilationReport& compilation,
                     const std::vector<OpTime>& ops) {
  // Columns are as wide as their contents.
  size_t op_width = 2;
  size_t node_width = 4;
  for (const OpTime& row : report.ops) {
    const OpReport& op = op_of(compilation, row);
    op_width = std::max(op_width, op.op.size());
    node_width = std::max(node_width, place_of(op).size());
  }
  std::string text = fmt::format(
      "  {:>3} {:<{}} {:<{}} {:>6} {:>8} {:>8} {:>5} {:>6} {:>6} {:>5}\n", "#", "op", op_width,
      "node", node_width, "times", "total ms", "mean us", "%", "GF/s", "% peak", "GB/s");
  for (const OpTime& row : ops) {
    const OpReport& op = op_of(compilation, row);
    text += fmt::format(
        "  {:>3} {:<{}} {:<{}} {:>6} {:>8.2f} {:>8.1f} {:>5.1f} {:>6} {:>6} {:>5.1f}\n", op.call,
        op.op, op_width, place_of(op), node_width, row.times, 1e3 * row.spent.seconds,
        1e6 * row.spent.seconds / static_cast<double>(row.times),
        100 * report.share(row.spent.seconds), rate(row.spent), peak_percent(report, row.spent),
        row.spent.gbytes());
  }
  return text;
}

std::string slowest_text(const ExecutionReport& report, const CompilationReport& compilation) {
  constexpr size_t kShown = 10;
  std::vector<OpTime> slowest = report.ops;
  std::stable_sort(slowest.begin(), slowest.end(), [](const OpTime& a, const OpTime& b) {
    return a.spent.seconds > b.spent.seconds;
  });
  if (slowest.size() > kShown) slowest.resize(kShown);
  return fmt::format("the {} ops that take most time, of one slice\n", slowest.size()) +
         ops_text(report, compilation, slowest);
}

std::string devices_text(const ExecutionReport& report) {
  std::vector<std::pair<Phase, const char*>> columns = {
      {Phase::forward, "forward"},        {Phase::backward, "backward"},
      {Phase::update, "update"},          {Phase::feed_wait, "feed"},
      {Phase::data_wait, "data"},         {Phase::barrier_wait, "barrier"},
      {Phase::exchange_wait, "exchange"}, {Phase::outside, "outside"}};
  if (!report.trains) {
    std::erase_if(columns, [](const auto& column) {
      return column.first == Phase::backward || column.first == Phase::update;
    });
  }
  std::string text = fmt::format("devices: % of the time of their workers\n  {:<7} {:>7} {:>6}",
                                 "device", "workers", "busy");
  for (const auto& column : columns) text += fmt::format(" {:>8}", column.second);
  text += "\n";
  for (const DeviceTime& row : report.devices) {
    const double all = std::max(report.span_seconds * row.workers, 1e-12);
    text += fmt::format("  {:<7} {:>7} {:>6.1f}", row.device, row.workers, 100 * row.busy_share);
    for (const auto& column : columns) {
      text += fmt::format(" {:>8.1f}", 100 * row.seconds[static_cast<size_t>(column.first)] / all);
    }
    text += "\n";
  }
  return text;
}

std::string stages_text(const ExecutionReport& report) {
  if (report.stages.empty()) return "";
  std::string text = fmt::format("stages: one visit of one worker\n  {:<7} {:<8} {:>9} {:>12}\n",
                                 "stage", "pass", "visits", "mean ms");
  for (const profile::StageSummary& row : report.stages) {
    text += fmt::format("  {:<7} {:<8} {:>9} {:>12.4f}\n", row.stage,
                        row.backward ? "backward" : "forward", row.visits, 1e3 * row.mean_seconds);
  }
  return text;
}

}  // namespace

std::string to_text(const ExecutionReport& report, const compiler::CompilationReport& compilation) {
  if (report.span_seconds <= 0) return "the trace has no event of a device\n";
  return coverage_text(report) + headline_text(report) + phases_text(report) +
         slowest_text(report, compilation) + devices_text(report) + stages_text(report) +
         layers_text(report) + "all ops in the order of the program\n" +
         ops_text(report, compilation, report.ops);
}

}  // namespace pando::runtime
