// The costs and gains of spreading a model over devices: host overhead, replicas, pipelines, more
// devices than cores, and memory. The variants of one table are measured in turns within one run,
// so that the ratios are valid on a busy machine.
//
//   parallel_bench [overhead] [replicas] [pipeline] [crowd] [memory]      (default: all)
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/variants/variants.h"
#include "pando/profile/trace_summary.h"

namespace pando {
namespace {

using bench::kRounds;
using bench::Measured;
using bench::median;
using bench::print_ratios;
using bench::Runner;
using bench::samples_of;
using bench::Variant;

void overhead() {
  fmt::print("\n## Host overhead: mnist_cnn, batch 64, one execution per epoch\n");
  const Dataset data = samples_of(zoo_entry("mnist_cnn"), 60000);
  Runner runner("mnist_cnn", {.name = "", .micro_batch = 64}, data);
  runner.run();
  profile::Trace trace({.ops = false});
  runner.run(&trace);
  fmt::print("{}", profile::to_text(profile::summarize(trace)));
  // The cost of tracing, including ops.
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    const double plain = runner.run();
    profile::Trace full;
    ratios.push_back(runner.run(&full) / plain);
  }
  fmt::print("throughput with tracing of every op / without: {:.3f}\n", median(ratios));
}

void replicas() {
  fmt::print("\n## Two single-core replicas against one two-core device, global batch 64\n");
  for (const std::string model : {"mnist_cnn", "cifar10_cnn", "cifar_resnet8"}) {
    const Dataset data = samples_of(zoo_entry(model), model == "mnist_cnn" ? 16384 : 2048);
    print_ratios(model, data,
                 {{.name = "1 device, 2 cores, batch 64", .micro_batch = 64},
                  {.name = "2 replicas, 1 core each, batch 32", .devices = 2}});
  }
}

void crowd() {
  fmt::print("\n## More devices than cores: the same samples\n");
  const Dataset data = samples_of(zoo_entry("mnist_cnn"), 32768);
  print_ratios("mnist_cnn", data,
               {{.name = "2 replicas, micro-batch 32, accumulation 8",
                 .devices = 2,
                 .micro_batch = 32,
                 .accumulation = 8},
                {.name = "16 replicas, micro-batch 32, accumulation 1",
                 .devices = 16,
                 .micro_batch = 32,
                 .accumulation = 1}});
}

// The split into two stages that balances the measured times of the stages.
std::vector<std::string> measured_split(const std::string& model, int64_t micro_batch) {
  const Dataset data = samples_of(zoo_entry(model), 8 * micro_batch);
  Runner runner(model, {.name = "", .cores_per_device = 1}, data);
  return runner.model().measure_pipeline_splits(2, data, micro_batch).splits;
}

void pipeline(const std::vector<std::string>& splits) {
  fmt::print("\n## Pipelines: cifar_resnet20 on 2 devices, 16 micro-batches of 16\n");
  const ZooEntry& entry = zoo_entry("cifar_resnet20");
  const Dataset data = samples_of(entry, 16 * 16 * 4);
  const Variant base{
      .name = "", .devices = 2, .micro_batch = 16, .accumulation = 16, .splits = splits};
  std::vector<Variant> variants = {
      {.name = "2 replicas, accumulation 8", .devices = 2, .micro_batch = 16, .accumulation = 8}};
  for (const PipelineSchedule schedule :
       {PipelineSchedule::grouped, PipelineSchedule::interleaved, PipelineSchedule::sequential}) {
    Variant variant = base;
    variant.schedule = schedule;
    variant.name = fmt::format("2 stages at {}, {}", splits[0], to_string(schedule));
    variants.push_back(variant);
  }
  const std::vector<Measured> measured = print_ratios("cifar_resnet20", data, variants);
  fmt::print("grouped / sequential: {:.2f}\n", measured[1].throughput / measured[3].throughput);
  for (size_t i = 1; i < variants.size(); ++i) {
    Runner runner("cifar_resnet20", variants[i], data);
    runner.run();
    profile::Trace trace({.ops = false});
    runner.run(&trace);
    const profile::TraceSummary summary = profile::summarize(trace);
    std::vector<runtime::StageSeconds> stages(2);
    for (const profile::StageSummary& stage : summary.stages) {
      auto& seconds = stages[static_cast<size_t>(stage.stage)];
      (stage.backward ? seconds.backward : seconds.forward) = stage.mean_seconds;
    }
    const runtime::PipelineShape shape{
        .schedule = variants[i].schedule, .stages = 2, .micro_batches = 16};
    const runtime::Playback played = runtime::play(shape, stages);
    fmt::print(
        "{:<12} forward {:.2f} {:.2f} ms, backward {:.2f} {:.2f} ms; idle: measured {:.1f} %, "
        "simulated {:.1f} %\n",
        to_string(variants[i].schedule), 1e3 * stages[0].forward, 1e3 * stages[1].forward,
        1e3 * stages[0].backward, 1e3 * stages[1].backward, 100 * summary.idle_share,
        100 * played.idle_share());
  }
}

void memory(const std::vector<std::string>& splits) {
  fmt::print("\n## Memory: cifar_resnet20, 16 micro-batches of 16, 2 stages on 2 devices\n");
  const ZooEntry& entry = zoo_entry("cifar_resnet20");
  const Dataset data = samples_of(entry, 256);
  for (const Recomputation recomputation :
       {Recomputation::none, Recomputation::then_backward, Recomputation::interleaved}) {
    for (const PipelineSchedule schedule :
         {PipelineSchedule::grouped, PipelineSchedule::interleaved, PipelineSchedule::sequential}) {
      Runner runner("cifar_resnet20",
                    {.name = "",
                     .devices = 2,
                     .micro_batch = 16,
                     .accumulation = 16,
                     .splits = splits,
                     .schedule = schedule,
                     .recomputation = recomputation},
                    data);
      const std::string report = runner.model().compile_report(16, data.fields());
      fmt::print("{}, {}\n{}", to_string(schedule),
                 recomputation == Recomputation::none            ? "no recomputation"
                 : recomputation == Recomputation::then_backward ? "recompute, then backward"
                                                                 : "recompute interleaved",
                 report.substr(report.find("memory of the devices")));
    }
  }
}

int run(const std::set<std::string>& wanted) {
  const auto asked = [&](const char* name) { return wanted.empty() || wanted.contains(name); };
  if (asked("overhead")) overhead();
  if (asked("replicas")) replicas();
  if (asked("crowd")) crowd();
  if (!asked("pipeline") && !asked("memory")) return 0;
  const std::vector<std::string> splits = measured_split("cifar_resnet20", 16);
  if (asked("pipeline")) pipeline(splits);
  if (asked("memory")) memory(splits);
  return 0;
}

}  // namespace
}  // namespace pando

int main(int argc, char** argv) {
  try {
    return pando::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "parallel_bench: %s\n", error.what());
    return 1;
  }
}
