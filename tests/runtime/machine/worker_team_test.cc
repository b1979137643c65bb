#include "pando/runtime/machine/worker_team.h"

#include <limits>
#include <set>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/runtime/machine/barrier.h"

namespace pando::runtime {
namespace {

TEST(WorkerTeam, EveryWorkerRunsTheTaskOnce) {
  WorkerTeam team({.device_workers = {3}});
  EXPECT_EQ(team.size(), 3);
  std::vector<int> runs(3, 0);
  std::vector<std::thread::id> threads(3);
  for (int round = 0; round < 200; ++round) {
    team.run([&](int worker) {
      ++runs[static_cast<size_t>(worker)];
      threads[static_cast<size_t>(worker)] = std::this_thread::get_id();
    });
  }
  EXPECT_EQ(runs, std::vector<int>(3, 200));
  EXPECT_EQ(std::set<std::thread::id>(threads.begin(), threads.end()).size(), 3u);
}

TEST(WorkerTeam, WorkersMeetAtTheBarrier) {
  WorkerTeam team({.device_workers = {2}});
  Barrier barrier(2, team.spins());
  std::vector<int> slots(2, 0);
  std::vector<int> seen(2, 0);
  team.run([&](int worker) {
    slots[static_cast<size_t>(worker)] = worker + 1;
    barrier.arrive_and_wait();
    seen[static_cast<size_t>(worker)] = slots[static_cast<size_t>(1 - worker)];
  });
  EXPECT_EQ(seen, (std::vector<int>{2, 1}));
}

TEST(WorkerTeam, TheFirstExceptionByWorkerReachesTheCaller) {
  WorkerTeam team({.device_workers = {3}});
  for (int round = 0; round < 20; ++round) {
    try {
      team.run([](int worker) {
        if (worker > 0) throw std::runtime_error("worker " + std::to_string(worker));
      });
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "worker 1");
    }
    // The team can be used again.
    std::vector<int> runs(3, 0);
    EXPECT_NO_THROW(team.run([&](int worker) { ++runs[static_cast<size_t>(worker)]; }));
    EXPECT_EQ(runs, std::vector<int>(3, 1));
  }
}

TEST(WorkerTeam, WorkersFlushDenormals) {
  WorkerTeam team({.device_workers = {1}});
  volatile float tiny = std::numeric_limits<float>::denorm_min() * 4;
  float sum = 1;
  team.run([&](int) { sum = tiny + tiny; });
  EXPECT_EQ(sum, 0.0f);
}

TEST(WorkerTeam, CoresThatDoNotExistAreNoError) {
  WorkerTeam team({.device_workers = {2}, .cores = {0, 1000}});
  std::vector<int> runs(2, 0);
  team.run([&](int worker) { ++runs[static_cast<size_t>(worker)]; });
  EXPECT_EQ(runs, std::vector<int>(2, 1));
}

TEST(WorkerTeam, WantsAtLeastOneWorkerOfEveryDevice) {
  EXPECT_THROW(WorkerTeam({.device_workers = {}}), InvalidArgument);
  EXPECT_THROW(WorkerTeam({.device_workers = {0}}), InvalidArgument);
  EXPECT_THROW(WorkerTeam({.device_workers = {1, -1}}), InvalidArgument);
}

TEST(WorkerTeam, WorkersAreNumberedDeviceByDevice) {
  const WorkerTeam team({.device_workers = {2, 1, 3}});
  EXPECT_EQ(team.devices(), 3);
  EXPECT_EQ(team.size(), 6);
  std::vector<int> devices;
  for (int worker = 0; worker < team.size(); ++worker) devices.push_back(team.device_of(worker));
  EXPECT_EQ(devices, (std::vector<int>{0, 0, 1, 2, 2, 2}));
  EXPECT_EQ(team.first_worker(2), 3);
  EXPECT_EQ(team.workers_of(2), 3);
}

TEST(WorkerTeam, WorkersThatShareCoresDoNotSpin) {
  EXPECT_EQ(WorkerTeam({.shares_cores = true}).spins(), 0);
  EXPECT_GT(WorkerTeam({.shares_cores = false}).spins(), 0);
}

TEST(WorkerTeam, EveryTraceHasTracksOfItsOwn) {
  WorkerTeam team({.device_workers = {1, 2}});
  uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    profile::Trace trace;  // often at the same address
    EXPECT_NE(trace.id(), last);
    last = trace.id();
    EXPECT_EQ(team.tracks(trace).size(), 3u);
    EXPECT_EQ(trace.tracks().size(), 3u);
    team.tracks(trace);
    EXPECT_EQ(trace.tracks().size(), 3u);
    EXPECT_EQ(team.tracks(trace)[2]->device(), 1);
  }
}

}  // namespace
}  // namespace pando::runtime
