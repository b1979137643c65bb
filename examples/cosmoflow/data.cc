// SPDX-License-Identifier: MIT
#include "pando/base/random.h"
#include "pando/options/usage_error.h"
#include "run.h"

namespace cosmo {

using namespace pando;

namespace {

Tensor uniform(Shape shape, uint64_t key) {
  Tensor tensor(DType::f32, std::move(shape));
  RandomStream random(key);
  for (float& value : tensor.f32()) value = random.next_uniform();
  return tensor;
}

// One sample of random numbers in [0, 1), which the host sends in every step.
Dataset one_sample(const Config& config, uint64_t key) {
  std::vector<int64_t> x = config.sample_shape;
  x.insert(x.begin(), 1);
  return Dataset::from_tensors(uniform(Shape(x), mix_keys(key, 0)),
                               uniform({1, config.target_shape[0]}, mix_keys(key, 1)));
}

// The first samples of a folder. They fill whole files and whole steps on all replicas.
Dataset open_part(const Config& config, const char* part, const char* key, int64_t samples) {
  const int64_t shards = config.shard ? config.replicas : 1;
  const int64_t unit = config.samples_per_file * shards * config.micro_batch_size;
  if (samples % unit != 0) {
    throw UsageError(key, " is ", samples, ", expected a multiple of samples_per_file * shards * ",
                     "micro_batch_size = ", config.samples_per_file, " * ", shards, " * ",
                     config.micro_batch_size, " = ", unit);
  }
  const std::string folder = *config.data_dir + "/" + part;
  const Dataset all = open_cosmoflow(folder, {.shape = Shape(config.sample_shape),
                                              .targets = config.target_shape[0],
                                              .apply_log = config.apply_log})
                          .data;
  if (all.size() < samples) {
    throw UsageError(key, " is ", samples, ", but ", folder, " has ", all.size(),
                     " files; use at most that many samples");
  }
  const Dataset chosen = all.take(samples);
  return config.staged_files ? chosen.cache() : chosen;
}

}  // namespace

Dataset Data::stream(const Config& config) const {
  const auto seed = static_cast<uint64_t>(config.seed);
  const bool shuffles = config.data == "cosmo" && config.shuffle_train;
  return shuffles ? train.shuffle({.seed = seed}).repeat() : train.repeat();
}

Data open_data(const Config& config) {
  const auto seed = static_cast<uint64_t>(config.seed);
  const bool has_files = config.data == "cosmo";
  // A weight update has at least as many samples as a step takes.
  const int64_t repeats = std::max(config.n_train, config.samples_per_step());
  Data data{has_files ? open_part(config, "train", "n_train", config.n_train)
                      : one_sample(config, seed).repeat(repeats),
            std::nullopt};
  if (config.n_valid == 0) return data;
  data.validation = has_files ? open_part(config, "validation", "n_valid", config.n_valid)
                              : one_sample(config, seed + 1).repeat(config.n_valid);
  if (config.shuffle_valid) data.validation = data.validation->shuffle({.seed = seed});
  return data;
}

}  // namespace cosmo
