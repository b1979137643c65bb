// `pando data benchmark`: how fast samples come out of a data set, stage by stage.
// SPDX-License-Identifier: MIT
#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/json.h"
#include "pando/base/strings.h"
#include "pando/cli/data_verbs.h"
#include "pando/datasets/all_datasets.h"
#include "pando/datasets/tools/benchmark.h"

namespace pando::cli {
namespace {

std::string short_rate(double per_second) {
  if (per_second >= 1000) return with_thousands(static_cast<int64_t>(per_second));
  return fmt::format("{:.1f}", per_second);
}

void print_text(const DataBenchmarkReport& report, double seconds, std::ostream& out) {
  out << fmt::format("{} in {}: {} samples, batches of {}, {} s for each measurement\n",
                     report.format, report.path, with_thousands(report.samples), report.batch_size,
                     seconds);
  bool bound = false;
  for (const CopyRate& copy : report.copies) {
    out << fmt::format("\n{} {}:\n  {:<8} {:>12} {:>10} {:>10} {:>10} {:>6}  {}\n", copy.workers,
                       copy.workers == 1 ? "thread" : "threads", "up to", "samples/s", "MB/s in",
                       "MB/s out", "ms/sample", "share", "what the stage does");
    for (const StageRate& stage : report.stages) {
      if (stage.workers != copy.workers) continue;
      out << fmt::format("  {:<8} {:>12} {:>10.1f} {:>10.1f} {:>10.4f} {:>5.1f}%  {}{}\n",
                         stage.stage, short_rate(stage.samples_per_second()),
                         stage.in_per_second() / 1e6, stage.out_per_second() / 1e6,
                         stage.ms_per_sample(), 100 * stage.share, stage.what,
                         stage.memory_bound ? " *" : "");
      bound = bound || stage.memory_bound;
    }
    out << fmt::format("  plain copies read and write {:.1f} GB/s\n", copy.bytes_per_second / 1e9);
  }
  out << "\nEach line measures all the work up to its stage; MB/s are those of the stage alone; "
         "share is what\nit adds to the time of a sample. Files that fit into memory are read from "
         "the page cache.\n";
  if (bound) {
    out << "* bound by memory: moves most of the bytes per second that plain copies move\n";
  }
}

Json to_json(const DataBenchmarkReport& report) {
  Json stages = Json::array();
  for (const StageRate& stage : report.stages) {
    stages.push_back({{"stage", stage.stage},
                      {"what", stage.what},
                      {"workers", stage.workers},
                      {"samples", stage.samples},
                      {"seconds", stage.seconds},
                      {"samples_per_second", stage.samples_per_second()},
                      {"bytes_in_per_second", stage.in_per_second()},
                      {"bytes_out_per_second", stage.out_per_second()},
                      {"ms_per_sample", stage.ms_per_sample()},
                      {"share", stage.share},
                      {"memory_bound", stage.memory_bound}});
  }
  Json copies = Json::array();
  for (const CopyRate& copy : report.copies) {
    copies.push_back({{"workers", copy.workers}, {"bytes_per_second", copy.bytes_per_second}});
  }
  return {{"data_set", report.format},       {"path", report.path}, {"samples", report.samples},
          {"batch_size", report.batch_size}, {"stages", stages},    {"copies", copies}};
}

}  // namespace

int data_benchmark(Arguments args, std::ostream& out) {
  std::string name;
  std::string path;
  DataBenchmarkOptions options{.workers = default_workers()};
  int64_t seed = 0;
  bool json = false;
  const bool go = parse_verb(
      args, out,
      "usage: pando data benchmark NAME [PATH] [flags]\n\n"
      "Measures how fast samples get from files into batches, stage by stage, with one thread and "
      "with several.\n\n" +
          dataset_list(),
      [&](OptionTable& table) {
        table.add_positional("NAME", name, "the data set");
        table.add_positional("PATH", path, "the folder or file of the data set", false);
        table.add("workers", options.workers, "threads, besides a measurement with one")
            .with_hint("N")
            .at_least(1);
        table.add("seconds", options.seconds, "seconds for each measurement")
            .with_hint("S")
            .above(0);
        table.add("batch-size", options.batch_size, "samples in a batch")
            .with_hint("N")
            .at_least(1);
        table.add("seed", seed, "seed of the order and the augmentation")
            .with_hint("N")
            .at_least(0);
        table.add("json", json, "print JSON");
      });
  if (!go) return app::kDone;
  options.seed = static_cast<uint64_t>(seed);
  const DatasetRecord& record = dataset_record(name);
  const DataBenchmarkReport report = benchmark_dataset(name, place_of(record, path), options);
  if (json) {
    out << to_json(report).dump(2) << "\n";
  } else {
    print_text(report, options.seconds, out);
  }
  return app::kDone;
}

}  // namespace pando::cli
