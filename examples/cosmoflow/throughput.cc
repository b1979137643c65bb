// SPDX-License-Identifier: MIT
#include "throughput.h"

#include <algorithm>

#include <fmt/format.h>

namespace cosmo {

double Throughput::seconds() const {
  double sum = 0;
  for (const Loop& loop : loops_) sum += loop.seconds;
  return sum;
}

double Throughput::samples_per_second() const {
  double samples = 0;
  for (const Loop& loop : loops_) samples += static_cast<double>(loop.samples);
  return loops_.empty() ? 0 : samples / seconds();
}

std::string Throughput::table() const {
  std::string text = "Iteration, Batches/Second, Samples/Second\n";
  for (size_t i = 0; i < loops_.size(); ++i) {
    const double rate = static_cast<double>(loops_[i].samples) / loops_[i].seconds;
    text += fmt::format("{}, {:.2f}, {:.2f}\n", i + 1,
                        rate / static_cast<double>(samples_per_step_), rate);
  }
  return text;
}

void tell_throughput(const Run& run, const Throughput& throughput) {
  std::string table = throughput.table();
  table.pop_back();
  run.tell(table);
  run.tell(
      fmt::format("Took {:.2f} minutes, i.e. {:.2f} samples per second for batch-size {} and "
                  "no. devices = {}",
                  throughput.seconds() / 60, throughput.samples_per_second(),
                  run.config.data.micro_batch_size, run.config.replicas));
}

void tell_results(const Run& run, const Data& data, const Results& results) {
  const Config& config = run.config;
  const Throughput& throughput = results.throughput;
  if (!throughput.empty()) tell_throughput(run, throughput);
  if (results.validation && run.instances.is_first()) {
    run.tell(
        fmt::format("Validation on {} samples: {}; mae of the mean of the training "
                    "targets {:.6g}",
                    config.data.n_valid, text_of(*results.validation), error_of_mean(data)));
  }
  if (!config.print_fom) return;
  std::string figures =
      fmt::format("FOM: samples_per_second {:.2f}", throughput.samples_per_second());
  if (results.validation) {
    for (const auto& [name, value] : *results.validation) {
      figures += fmt::format(", val_{} {:.6g}", name, value);
    }
  }
  run.tell(figures);
}

}  // namespace cosmo
