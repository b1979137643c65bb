// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <thread>

#include <fmt/format.h>

#include "pando/app/job/agreed_signal.h"
#include "pando/app/job/exit_code.h"
#include "pando/base/clock.h"
#include "run.h"

namespace cosmo {

using namespace pando;

namespace {

constexpr int kEpochs = 10;
constexpr int64_t kElements = 10000;  // at most, micro-batches per epoch of all instances
constexpr double kSeconds = 0.25;     // at least, per epoch: small data are repeated

// Each instance prepares the batches that it would have in training.
BatchStream make_stream(const Run& run) {
  const Config& config = run.config;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  const int first = dist::instance_index() * config.local_replicas;
  return run.data.stream(config)
      .batch(config.micro_batch_size)
      .share({.total = config.replicas, .first = first, .count = config.local_replicas})
      .prefetch(config.prefetch * config.local_replicas,
                {.workers = std::clamp(cores / dist::num_instances(), 1, config.prefetch)});
}

size_t bytes_of(const std::vector<Field>& fields) {
  size_t bytes = 0;
  for (const Field& field : fields) bytes += bytes_per_sample(field);
  return bytes;
}

// The micro-batches per second of this instance, starting at `position`, which is advanced. Uses a
// new stream, so that nothing is prepared before the clock starts.
double measure_epoch(const Run& run, const std::atomic<bool>& stop, StreamState& position) {
  const Config& config = run.config;
  const int64_t most = std::max<int64_t>(1, kElements / dist::num_instances());
  const int64_t per_epoch = config.n_train / config.micro_batch_size;
  const int64_t round = std::clamp<int64_t>(per_epoch / dist::num_instances(), 1, most);
  BatchStream stream = make_stream(run);
  stream.restore(position);
  Batch batch;
  int64_t made = 0;
  const auto start = std::chrono::steady_clock::now();
  while (made < most && (made == 0 || seconds_since(start) < kSeconds) && !stop) {
    for (int64_t i = 0; i < round && !stop; ++i, ++made) stream.next(batch);
  }
  const double seconds = seconds_since(start);
  position = stream.state();
  return static_cast<double>(made) / seconds;
}

}  // namespace

int run_data_benchmark(const Run& run) {
  pando::app::AgreedSignal signal(run.instances);
  const Config& config = run.config;
  const auto bytes_per_sample = static_cast<double>(bytes_of(run.data.train.fields()));
  StreamState position;
  run.tell("Epoch, Bandwidth(GB/s), Samples/Second");
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    const double own = measure_epoch(run, signal.wanted(), position);
    if (signal.ask() != 0) return app::kStopped;
    // The rate of all instances together.
    std::array<double, 1> rate = {own * static_cast<double>(config.micro_batch_size)};
    dist::all_reduce(rate);
    run.tell(fmt::format("{}, {:.3f}, {:.2f}", epoch, rate[0] * bytes_per_sample / 1e9, rate[0]));
  }
  run.tell("All done!");
  return app::kDone;
}

}  // namespace cosmo
