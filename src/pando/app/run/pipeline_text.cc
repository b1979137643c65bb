// SPDX-License-Identifier: MIT
#include "pando/app/run/pipeline_text.h"

#include <fmt/core.h>

namespace pando::app {
namespace {

constexpr int kMostDrawn = 16;  // micro-batches

}  // namespace

std::string timeline_of(const runtime::PipelineShape& shape) {
  const std::string head = fmt::format(
      "pipeline: {} stages on {} devices, {} schedule, {} micro-batch{} per weight "
      "update\n",
      shape.stages, runtime::device_count(shape), to_string(shape.schedule), shape.micro_batches,
      shape.micro_batches == 1 ? "" : "es");
  return shape.micro_batches > kMostDrawn ? head : head + runtime::timeline_text(shape);
}

std::string expected_idle(const runtime::PipelineShape& shape,
                          const std::vector<runtime::StageSeconds>& seconds) {
  const bool known = !seconds.empty();
  const std::vector<runtime::StageSeconds> even(static_cast<size_t>(shape.stages), {1, 2});
  const runtime::Playback played = runtime::play(shape, known ? seconds : even);
  return fmt::format(
      "expected idle share of the devices: {:.1f} % ({})\n", 100 * played.idle_share(),
      known ? "with the measured times of the stages" : "if all stages take the same time");
}

std::string stage_table(const std::vector<runtime::StageSeconds>& seconds) {
  std::string text = fmt::format("  {:<7} {:>12} {:>12}\n", "stage", "forward ms", "backward ms");
  for (size_t stage = 0; stage < seconds.size(); ++stage) {
    text += fmt::format("  {:<7} {:>12.3f} {:>12.3f}\n", stage, 1e3 * seconds[stage].forward,
                        1e3 * seconds[stage].backward);
  }
  return text;
}

std::vector<runtime::StageSeconds> stage_seconds(const profile::TraceSummary& summary,
                                                 const TracedWork& work) {
  std::vector<runtime::StageSeconds> seconds(static_cast<size_t>(work.stages));
  for (const profile::StageSummary& stage : summary.stages) {
    if (stage.stage < 0 || stage.stage >= work.stages) continue;
    // A worker makes one visit for each of its slices, one after the other.
    const double each = static_cast<double>(stage.visits) * stage.mean_seconds /
                        static_cast<double>(work.workers * work.micro_batches);
    runtime::StageSeconds& found = seconds[static_cast<size_t>(stage.stage)];
    (stage.backward ? found.backward : found.forward) = each;
  }
  return seconds;
}

}  // namespace pando::app
