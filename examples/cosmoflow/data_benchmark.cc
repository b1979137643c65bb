// SPDX-License-Identifier: MIT
#include "data_benchmark.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "pando/app/exit_code.h"

namespace cosmo {

using namespace pando;

namespace {

constexpr int kEpochs = 10;
constexpr int64_t kElements = 10000;  // micro-batches of an epoch, of all instances

// Each instance makes the batches that it would have in training.
BatchStream make_stream(const Config& config, const Data& data) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  const int first = dist::instance_index() * config.local_replicas;
  return data.train.batch(config.data.micro_batch_size)
      .share({.total = config.replicas, .first = first, .count = config.local_replicas})
      .prefetch(config.data.prefetch * config.local_replicas,
                {.workers = std::clamp(cores / dist::num_instances(), 1, config.data.prefetch)});
}

size_t bytes_of(const std::vector<Field>& fields) {
  size_t bytes = 0;
  for (const Field& field : fields) bytes += bytes_per_sample(field);
  return bytes;
}

}  // namespace

int run_data_benchmark(const Run& run, const Data& data) {
  const Config& config = run.config;
  const int64_t per_epoch = std::min(kElements, config.data.n_train / config.data.micro_batch_size);
  const int64_t own = std::max<int64_t>(1, per_epoch / dist::num_instances());
  BatchStream stream = make_stream(config, data);
  const auto bytes_per_sample = static_cast<double>(bytes_of(stream.fields()));
  Batch batch;
  run.tell("Epoch, Bandwidth(GB/s), Samples/Second");
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < own && !run.signal.wanted(); ++i) stream.next(batch);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (run.signal.ask() != 0) return app::kStopped;
    // What all instances make together.
    std::array<double, 1> rate = {static_cast<double>(own * config.data.micro_batch_size) /
                                  seconds.count()};
    dist::all_reduce(rate);
    run.tell(fmt::format("{}, {:.3f}, {:.2f}", epoch, rate[0] * bytes_per_sample / 1e9, rate[0]));
  }
  run.tell("All done!");
  return app::kDone;
}

}  // namespace cosmo
