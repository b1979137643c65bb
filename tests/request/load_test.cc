#include "pando/request/load.h"

#include <atomic>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "pando/base/error.h"
#include "tests/support/expect_error.h"

namespace pando::request {
namespace {

using namespace std::chrono_literals;
using testing_support::error_of;

struct FakeConnection : Connection {
  FakeConnection(std::atomic<int>& sent_in, std::function<serve::Status(int)> answer_in)
      : sent(sent_in), answer(std::move(answer_in)) {}
  serve::Status send(Seconds) override { return answer(sent++); }
  std::atomic<int>& sent;
  std::function<serve::Status(int)> answer;
};

LoadResult load(const LoadPlan& plan, std::atomic<int>& sent,
                const std::function<serve::Status(int)>& answer) {
  return run_load(plan, [&](int) { return std::make_unique<FakeConnection>(sent, answer); });
}

TEST(RequestLoad, ClosedLoopSendsFromEachConnection) {
  std::atomic<int> sent = 0;
  std::atomic<int> told = 0;
  LoadPlan plan{.connections = 3, .requests = 5};
  plan.answered = [&](int, double) { ++told; };
  const LoadResult result = load(plan, sent, [](int) { return serve::Status{}; });
  EXPECT_EQ(sent, 3 * (5 + 1));  // one to warm up
  EXPECT_EQ(told, 15);
  EXPECT_EQ(result.latencies.size(), 15U);
  EXPECT_TRUE(std::ranges::is_sorted(result.latencies));
  EXPECT_EQ(result.failed(), 0);
}

TEST(RequestLoad, OpenLoopCountsFromThePlannedTime) {
  std::atomic<int> sent = 0;
  // One connection, answers of 20 ms, a request each millisecond: each waits longer than the last.
  const LoadPlan plan{.connections = 1, .requests = 5, .rate = 1000};
  const LoadResult result = load(plan, sent, [](int) {
    std::this_thread::sleep_for(20ms);
    return serve::Status{};
  });
  ASSERT_EQ(result.latencies.size(), 5U);
  EXPECT_GE(result.latencies.front(), 0.020);
  EXPECT_GE(result.latencies.back(), 5 * 0.020 - 4 * 0.001);
}

TEST(RequestLoad, CountsErrorsByKind) {
  std::atomic<int> sent = 0;
  const LoadResult result = load({.connections = 1, .requests = 4}, sent, [](int number) {
    if (number % 2 == 0) return serve::Status{};
    return serve::failure(serve::Code::resource_exhausted, "full ", number);
  });
  EXPECT_EQ(result.failed(), 2);
  EXPECT_EQ(result.errors.at("RESOURCE_EXHAUSTED"), 2);
  EXPECT_EQ(static_cast<int64_t>(result.refusals.size()), result.failed());
  EXPECT_EQ(result.texts.at("RESOURCE_EXHAUSTED"), "full 1");
  EXPECT_EQ(result.latencies.size(), 2U);
}

TEST(RequestLoad, WarmsUpAgainWhereTheServerIsFull) {
  std::atomic<int> sent = 0;
  const auto answer = [](int number) {
    return number == 0 ? serve::failure(serve::Code::resource_exhausted, "full") : serve::Status{};
  };
  EXPECT_EQ(load({.connections = 1, .requests = 2}, sent, answer).latencies.size(), 2U);
  EXPECT_EQ(sent, 4);
}

TEST(RequestLoad, AFirstRequestThatFailsEndsIt) {
  std::atomic<int> sent = 0;
  EXPECT_SAYS(error_of<IoError>([&] {
                load({.connections = 2, .requests = 4}, sent,
                     [](int) { return serve::failure(serve::Code::not_found, "no model"); });
              }),
              "NOT_FOUND", "no model");
  EXPECT_EQ(sent, 2);
}

// In a process of its own, whose memory has no room for the stacks of so many threads.
TEST(RequestLoad, AThreadThatIsRefusedEndsItInsteadOfWaiting) {
  const auto run_with_little_memory = [] {
    const rlimit limit{1L << 31, 1L << 31};
    ::setrlimit(RLIMIT_AS, &limit);
    std::atomic<int> sent = 0;
    try {
      load({.connections = 4000, .requests = 1}, sent, [](int) { return serve::Status{}; });
    } catch (const ResourceError&) {
      std::_Exit(7);
    }
    std::_Exit(1);
  };
  EXPECT_EXIT(run_with_little_memory(), testing::ExitedWithCode(7), "");
}

TEST(RequestLoad, Percentiles) {
  LoadResult result;
  EXPECT_EQ(result.percentile(0.5), 0);
  for (int i = 1; i <= 100; ++i) result.latencies.push_back(i);
  EXPECT_EQ(result.percentile(0.5), 50);
  EXPECT_EQ(result.percentile(0.99), 99);
  EXPECT_EQ(result.percentile(0.999), 100);
}

}  // namespace
}  // namespace pando::request
