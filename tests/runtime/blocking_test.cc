// Waiting threads leave their core to others: measured by the processor time that they use.
#include <chrono>
#include <ctime>
#include <thread>

#include <gtest/gtest.h>

#include "pando/ir/text.h"
#include "tests/runtime/trainee.h"

namespace pando::runtime {
namespace {

constexpr auto kWait = std::chrono::milliseconds(200);
constexpr double kMostMs = 20;

// Processor time of the calling thread.
double processor_ms() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

// The processor time of a thread that waits until `wake` is called.
template <typename Wait, typename Wake>
double ms_of_waiting(const Wait& wait, const Wake& wake) {
  double ms = 0;
  std::thread thread([&] {
    const double before = processor_ms();
    wait();
    ms = processor_ms() - before;
  });
  std::this_thread::sleep_for(kWait);
  wake();
  thread.join();
  return ms;
}

class Blocking : public testing::TestWithParam<bool> {
 protected:
  // Threads that share cores sleep at once, others after a while.
  static int spins() { return WorkerTeam({.shares_cores = GetParam()}).spins(); }
};

TEST_P(Blocking, AtABarrier) {
  Barrier barrier(2, spins());
  const auto meet = [&] { EXPECT_TRUE(barrier.arrive_and_wait()); };
  EXPECT_LT(ms_of_waiting(meet, meet), kMostMs);
}

TEST_P(Blocking, ForProgress) {
  Progress progress;
  const std::atomic<bool> given_up{false};
  EXPECT_LT(ms_of_waiting([&] { EXPECT_TRUE(progress.wait_for(1, spins(), given_up)); },
                          [&] { progress.advance_to(1); }),
            kMostMs);
}

TEST_P(Blocking, InAWholeExecution) {
  // Two devices: the second waits for the first, which waits for the data.
  const auto program = compiler::compile(
      ir::parse_graph("graph(x: f32[2,3] feed) { y = relu(x) return result y=y }"));
  VariableStore variables;
  WorkerTeam team({.device_workers = {2, 2}, .shares_cores = GetParam()});
  Executor executor(*program, variables, team, nullptr, {.replicas = 2});
  InfeedQueue infeed(
      [&](Batch& batch) {
        std::this_thread::sleep_for(kWait / 4);
        batch.fields = {Tensor(DType::f32, {2, 3})};
        batch.valid = 2;
        return true;
      },
      1);
  const std::vector<UpdatePlan> plans(2, {.elements = 2, .samples = 4});
  std::vector<double> ms(4, 0);
  const auto measure = [&](double sign) {
    team.run([&](int worker) { ms[static_cast<size_t>(worker)] += sign * processor_ms(); });
  };
  measure(-1);
  EXPECT_EQ(executor.run({.updates = plans}, infeed).updates, 2);
  measure(1);
  for (const double taken : ms) EXPECT_LT(taken, kMostMs);
}

TEST_P(Blocking, BetweenExecutions) {
  WorkerTeam team({.device_workers = {2}, .shares_cores = GetParam()});
  std::vector<double> ms(2, 0);
  const auto measure = [&](double sign) {
    team.run([&](int worker) { ms[static_cast<size_t>(worker)] += sign * processor_ms(); });
  };
  measure(-1);
  std::this_thread::sleep_for(kWait);
  measure(1);
  for (const double taken : ms) EXPECT_LT(taken, kMostMs);
}

INSTANTIATE_TEST_SUITE_P(Cores, Blocking, testing::Bool(),
                         [](const auto& test) { return test.param ? "Shared" : "Owned"; });

TEST(BlockingFeed, ForAnElementThatAnotherThreadFetches) {
  std::atomic<bool> asked{false};
  std::atomic<bool> there{false};
  InfeedQueue infeed(
      [&](Batch&) {
        asked = true;
        there.wait(false);
        return true;
      },
      2);
  std::thread fetching([&] { infeed.take(0); });
  while (!asked) std::this_thread::yield();
  EXPECT_LT(ms_of_waiting([&] { EXPECT_NE(infeed.take(1), nullptr); },
                          [&] {
                            there = true;
                            there.notify_all();
                          }),
            kMostMs);
  fetching.join();
}

TEST(BlockingFeed, WhileTheQueueIsFull) {
  InfeedQueue infeed([](Batch&) { return true; }, 1);
  EXPECT_LT(ms_of_waiting([&] { EXPECT_NE(infeed.take(2), nullptr); },
                          [&] {
                            infeed.take(0);
                            infeed.take(1);
                          }),
            kMostMs);
}

}  // namespace
}  // namespace pando::runtime
