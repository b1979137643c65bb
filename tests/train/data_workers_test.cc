// Which threads prepare batches, and how often.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <mutex>

#include <sched.h>

#include "pando/runtime/machine/device_set.h"
#include "pando/runtime/machine/topology.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

TEST(DataWorkers, DoNotChangeTheResult) {
  Model one = compiled(small_cnn(), classifier());
  Model many = compiled(small_cnn(), classifier());
  one.fit(image_data(30), {.epochs = 2, .batch_size = 4, .data_workers = 1, .verbose = 0});
  many.fit(image_data(30), {.epochs = 2, .batch_size = 4, .data_workers = 5, .verbose = 0});
  EXPECT_TRUE(same_weights(one, many));
  EXPECT_SAYS(error_of([&] { one.fit(image_data(8), {.data_workers = -1}); }),
              "data_workers: ", "got -1");
}

// The hardware threads that the calling thread may run on.
std::vector<int> threads_of_this_one() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> threads;
  for (int thread = 0; thread < CPU_SETSIZE; ++thread) {
    if (CPU_ISSET(static_cast<size_t>(thread), &set)) threads.push_back(thread);
  }
  return threads;
}

TEST(DataWorkers, KeepOffTheCoresOfDevices) {
  const runtime::Topology topology = runtime::query_topology();
  if (topology.core_threads.size() < 2) GTEST_SKIP() << "there is one core only";
  const std::vector<int> device = {topology.core_threads[0]};
  const DeviceStrategy strategy({.devices = 1, .core_sets = {device}});
  const auto scope = strategy.scope();
  Model model(small_cnn());
  model.compile(classifier());
  std::mutex mutex;
  std::vector<int> seen;
  const Dataset data = image_data(8).map_in_place([&](const SampleView&) {
    const std::lock_guard lock(mutex);
    seen = threads_of_this_one();
  });
  model.fit(data, {.batch_size = 4, .verbose = 0});
  EXPECT_EQ(seen, runtime::threads_beside(topology, device));
  EXPECT_EQ(std::ranges::count(seen, device[0]), 0);
}

TEST(DataWorkers, OneBatchCanServeAllSteps) {
  const Dataset data = image_data(30);
  FitOptions options{
      .epochs = 2, .batch_size = 8, .shuffle = false, .carry_remainder = true, .verbose = 0};
  Model repeated = compiled(small_cnn(), classifier());  // 3 updates of an epoch, the same 8
  repeated.fit(data.take(8).repeat(3), options);
  options.same_batch = true;
  Model same = compiled(small_cnn(), classifier());
  same.fit(data, options);
  EXPECT_TRUE(same_weights(repeated, same));
  EXPECT_SAYS(error_of([&] { same.fit(data, {.same_batch = true}); }), "same_batch",
              "carry_remainder", "drop_remainder");
}

}  // namespace
}  // namespace pando
