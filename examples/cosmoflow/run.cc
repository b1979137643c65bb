// SPDX-License-Identifier: MIT
#include "run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "pando/base/new_file.h"
#include "pando/options/usage_error.h"

namespace cosmo {

using namespace pando;

namespace {

constexpr int64_t kMeasured = 512;  // volumes that are read again for their targets

// The mean absolute error on the validation data of a prediction that is always the mean of the
// training targets. A network must beat this.
double error_of_mean(const Data& data) {
  const int64_t samples = std::min(data.train.size(), kMeasured);
  std::vector<double> mean(static_cast<size_t>(data.train.fields()[1].shape.elements()));
  for (int64_t i = 0; i < samples; ++i) {
    const Sample sample = data.train.get(i);
    for (size_t k = 0; k < mean.size(); ++k) {
      mean[k] += sample.y().f32()[k] / static_cast<double>(samples);
    }
  }
  const int64_t measured = std::min(data.validation->size(), kMeasured);
  double error = 0;
  for (int64_t i = 0; i < measured; ++i) {
    const Sample sample = data.validation->get(i);
    for (size_t k = 0; k < mean.size(); ++k) error += std::abs(sample.y().f32()[k] - mean[k]);
  }
  return error / static_cast<double>(mean.size()) / static_cast<double>(measured);
}

}  // namespace

void Run::tell(std::string_view line) const {
  if (instances.is_first()) std::cout << line << std::endl;
}

void Run::write(const std::string& name, const std::string& text) const {
  instances.from_first([&] {
    std::error_code failure;
    std::filesystem::create_directories(config.output_dir, failure);
    if (failure) {
      throw IoError("output_dir: cannot create ", config.output_dir, ": ", failure.message());
    }
    NewFile file(path(name));
    file.write(std::as_bytes(std::span(text)));
    file.commit();
    return std::string();
  });
}

Plan make_plan(const Config& config) {
  const int64_t loop = config.iterations_per_loop;
  const int64_t steps = config.n_epochs * config.n_train / config.samples_per_step();
  const std::string rule =
      fmt::format("n_epochs * n_train // (micro_batch_size * replicas) = {} * {} // ({} * {}) = {}",
                  config.n_epochs, config.n_train, config.micro_batch_size, config.replicas, steps);
  if (steps < 1) {
    throw UsageError("steps = ", rule,
                     "; expected at least 1: use a larger --n-train or --n-epochs");
  }
  if (steps < loop) {
    throw UsageError("steps = ", rule, ", fewer than iterations_per_loop ", loop,
                     ", which does not fill one loop; use --iterations-per-loop ", steps,
                     " or less, or more samples");
  }
  if (config.use_estimator && steps % loop != 0) {
    int64_t divisor = loop;
    while (steps % divisor != 0) --divisor;
    throw UsageError("steps = ", rule, ", but --use-estimator requires a multiple of ",
                     "iterations_per_loop ", loop, "; use for example --iterations-per-loop ",
                     divisor);
  }
  const int64_t samples_per_loop = config.samples_per_step() * loop;
  const bool whole_epochs = config.n_train % samples_per_loop == 0;
  return {.loops = steps / loop,
          .loops_per_epoch = whole_epochs ? config.n_train / samples_per_loop : 0,
          .steps = steps};
}

void Results::add_loop(int64_t samples, double seconds, const Logs& logs) {
  if (samples == 0) return;  // stopped before its first step
  loops_.push_back({samples, seconds});
  run_.tell(fmt::format("{:.4f} sec/itr. ({})", seconds, text_of(logs)));
}

double Results::seconds() const {
  double sum = 0;
  for (const Loop& loop : loops_) sum += loop.seconds;
  return sum;
}

double Results::samples_per_second() const {
  double samples = 0;
  for (const Loop& loop : loops_) samples += static_cast<double>(loop.samples);
  return loops_.empty() ? 0 : samples / seconds();
}

std::string Results::table() const {
  std::string text = "Iteration, Batches/Second, Samples/Second\n";
  for (size_t i = 0; i < loops_.size(); ++i) {
    const double rate = static_cast<double>(loops_[i].samples) / loops_[i].seconds;
    text += fmt::format("{}, {:.2f}, {:.2f}\n", i + 1,
                        rate / static_cast<double>(run_.config.samples_per_step()), rate);
  }
  return text;
}

void Results::tell() {
  if (std::exchange(told_, true)) return;
  const Config& config = run_.config;
  const double rate = samples_per_second();
  if (!loops_.empty()) {
    run_.tell(table() +
              fmt::format("Took {:.2f} minutes, i.e. {:.2f} samples per second for batch-size {} "
                          "and no. devices = {}",
                          seconds() / 60, rate, config.micro_batch_size, config.replicas));
  }
  if (!validation.empty() && run_.instances.is_first()) {
    run_.tell(
        fmt::format("Validation on {} samples: {}; mae of the mean of the training targets {:.6g}",
                    config.n_valid, text_of(validation), error_of_mean(run_.data)));
  }
  if (!config.print_fom) return;
  std::string figures = fmt::format("FOM: samples_per_second {:.2f}", rate);
  for (const auto& [name, value] : validation) {
    figures += fmt::format(", val_{} {:.6g}", name, value);
  }
  run_.tell(figures);
}

std::string text_of(const Logs& logs) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : logs) parts.push_back(fmt::format("{} {:.6g}", name, value));
  return join(parts, ", ");
}

}  // namespace cosmo
