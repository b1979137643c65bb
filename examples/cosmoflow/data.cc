// SPDX-License-Identifier: MIT
#include "data.h"

#include <algorithm>
#include <cmath>

#include "pando/app/job/exit_code.h"
#include "pando/base/random.h"

namespace cosmo {

using namespace pando;
using pando::UsageError;

namespace {

constexpr int64_t kMeasured = 512;  // volumes that are read again for their targets

Tensor uniform(Shape shape, uint64_t key) {
  Tensor tensor(DType::f32, std::move(shape));
  RandomStream random(key);
  for (float& value : tensor.f32()) value = random.next_uniform();
  return tensor;
}

// One sample of random numbers in [0, 1), which the host sends in every step.
Dataset one_sample(const DataConfig& data, uint64_t key) {
  std::vector<int64_t> x = data.sample_shape;
  x.insert(x.begin(), 1);
  return Dataset::from_tensors(uniform(Shape(x), mix_keys(key, 0)),
                               uniform({1, data.target_shape[0]}, mix_keys(key, 1)));
}

// Checks that the samples fill whole steps on all replicas, and whole files.
void check_divides(const Config& config, const char* key, int64_t samples) {
  const DataConfig& data = config.data;
  const int64_t shards = data.shard ? config.replicas : 1;
  const int64_t unit = data.samples_per_file * shards * data.micro_batch_size;
  if (samples % unit == 0) return;
  throw UsageError(key, " is ", samples, ", expected a multiple of samples_per_file * shards * ",
                   "micro_batch_size = ", data.samples_per_file, " * ", shards, " * ",
                   data.micro_batch_size, " = ", unit);
}

Dataset open_part(const Config& config, const char* part, const char* key, int64_t samples) {
  check_divides(config, key, samples);
  const DataConfig& data = config.data;
  const std::string folder = *data.data_dir + "/" + part;
  const Dataset all = open_cosmoflow(folder, {.shape = Shape(data.sample_shape),
                                              .targets = data.target_shape[0],
                                              .apply_log = data.apply_log})
                          .data;
  if (all.size() < samples) {
    throw UsageError(key, " is ", samples, ", but ", folder, " has ", all.size(),
                     " files; use at most that many samples");
  }
  const Dataset chosen = all.take(samples);
  return data.staged_files ? chosen.cache() : chosen;
}

Data open_dummy(const Config& config) {
  const auto seed = static_cast<uint64_t>(config.seed);
  const Dataset train = one_sample(config.data, seed);
  Data data{train.repeat(), train, std::nullopt};
  if (config.data.n_valid > 0) {
    data.validation = one_sample(config.data, seed + 1).repeat(config.data.n_valid);
  }
  return data;
}

Data open_cosmo(const Config& config) {
  const auto seed = static_cast<uint64_t>(config.seed);
  const Dataset train = open_part(config, "train", "n_train", config.data.n_train);
  const Dataset ordered = config.data.shuffle_train ? train.shuffle({.seed = seed}) : train;
  Data data{ordered.repeat(), train, std::nullopt};
  if (config.data.n_valid > 0) {
    const Dataset valid = open_part(config, "validation", "n_valid", config.data.n_valid);
    data.validation = config.data.shuffle_valid ? valid.shuffle({.seed = seed}) : valid;
  }
  return data;
}

}  // namespace

Data open_data(const Config& config) {
  return config.data.name == "cosmo" ? open_cosmo(config) : open_dummy(config);
}

double error_of_mean(const Data& data) {
  const int64_t samples = std::min(data.epoch.size(), kMeasured);
  std::vector<double> mean(static_cast<size_t>(data.epoch.fields()[1].shape.elements()));
  for (int64_t i = 0; i < samples; ++i) {
    const Sample sample = data.epoch.get(i);
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

}  // namespace cosmo
