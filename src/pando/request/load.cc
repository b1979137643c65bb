// SPDX-License-Identifier: MIT
#include "pando/request/load.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <latch>
#include <mutex>
#include <thread>

#include "pando/base/error.h"
#include "pando/base/threads.h"

namespace pando::request {
namespace {

using Clock = std::chrono::steady_clock;

class LoadRun {
 public:
  LoadRun(const LoadPlan& plan, const std::function<std::unique_ptr<Connection>(int)>& connect)
      : plan_(plan), connect_(connect), warm_(plan.connections), start_(1) {}

  LoadResult run() {
    std::vector<std::jthread> threads;
    try {
      for (int i = 0; i < plan_.connections; ++i) {
        threads.push_back(
            start_thread(concat("request.", i), [this, i](const std::stop_token&) { work(i); }));
      }
    } catch (...) {  // the system refuses a thread: the started ones must not wait for ever
      is_abandoned_ = true;
      start_.count_down();
      throw;
    }
    warm_.wait();
    if (failure_.ok() && plan_.ready) plan_.ready();
    begin_ = Clock::now();
    start_.count_down();
    for (std::jthread& thread : threads) thread.join();
    if (!failure_.ok()) {
      throw IoError("the first request failed: ", to_string(failure_.code), ": ", failure_.message);
    }
    result_.seconds = Seconds(end_ - begin_).count();
    std::ranges::sort(result_.latencies);
    std::ranges::sort(result_.refusals);
    return std::move(result_);
  }

 private:
  void work(int index) {
    std::unique_ptr<Connection> connection;
    serve::Status status;
    try {
      connection = connect_(index);
      status = warm_up(*connection);
    } catch (const std::exception& error) {
      status = serve::failure(serve::Code::unavailable, error.what());
    }
    if (!status.ok()) {
      const std::lock_guard lock(mutex_);
      failure_ = status;
    }
    warm_.count_down();
    start_.wait();
    if (is_abandoned_ || !failure_.ok()) return;
    plan_.rate > 0 ? open_loop(*connection, index) : closed_loop(*connection, index);
    const std::lock_guard lock(mutex_);
    end_ = std::max(end_, Clock::now());
  }

  // A server that has more to do than it accepts answers when others have been answered.
  serve::Status warm_up(Connection& connection) const {
    constexpr std::chrono::milliseconds kPause{100};
    const auto deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(plan_.warmup_timeout));
    while (true) {
      const serve::Status status = connection.send(deadline - Clock::now());
      const bool is_full = status.code == serve::Code::resource_exhausted;
      if (!is_full || Clock::now() + kPause >= deadline) return status;
      std::this_thread::sleep_for(kPause);
    }
  }

  void closed_loop(Connection& connection, int index) {
    std::vector<double> latencies;
    for (int64_t i = 0; i < plan_.requests; ++i) {
      measure(connection, index, Clock::now(), latencies);
    }
    keep(latencies);
  }

  // Each request has a planned time. If it is sent late because all connections wait for answers,
  // its latency still counts from the planned time, as a user would see it.
  void open_loop(Connection& connection, int index) {
    std::vector<double> latencies;
    for (int64_t i = next_++; i < plan_.requests; i = next_++) {
      const auto planned = begin_ + std::chrono::duration_cast<Clock::duration>(
                                        Seconds(static_cast<double>(i) / plan_.rate));
      std::this_thread::sleep_until(planned);
      measure(connection, index, planned, latencies);
    }
    keep(latencies);
  }

  void measure(Connection& connection, int index, Clock::time_point from,
               std::vector<double>& latencies) {
    const Clock::time_point sent = Clock::now();
    const serve::Status status = connection.send(Seconds(plan_.timeout));
    const Clock::time_point end = Clock::now();
    const double seconds = Seconds(end - from).count();
    if (status.ok()) {
      latencies.push_back(seconds);
      if (plan_.answered) plan_.answered(index, seconds);
      return;
    }
    const std::lock_guard lock(mutex_);
    const std::string code(to_string(status.code));
    result_.refusals.push_back(Seconds(end - sent).count());
    ++result_.errors[code];
    result_.texts.emplace(code, status.message);
  }

  void keep(const std::vector<double>& latencies) {
    const std::lock_guard lock(mutex_);
    result_.latencies.insert(result_.latencies.end(), latencies.begin(), latencies.end());
  }

  const LoadPlan& plan_;
  const std::function<std::unique_ptr<Connection>(int)>& connect_;
  std::latch warm_;
  std::latch start_;
  Clock::time_point begin_;
  Clock::time_point end_;
  std::atomic<bool> is_abandoned_ = false;
  std::atomic<int64_t> next_{0};
  std::mutex mutex_;
  serve::Status failure_;
  LoadResult result_;
};

}  // namespace

int64_t LoadResult::failed() const {
  int64_t sum = 0;
  for (const auto& [code, count] : errors) sum += count;
  return sum;
}

double LoadResult::percentile(double share) const { return percentile_of(latencies, share); }

double percentile_of(const std::vector<double>& ascending, double share) {
  if (ascending.empty()) return 0;
  const auto count = static_cast<double>(ascending.size());
  const double rank = std::ceil(share * count);
  return ascending[static_cast<size_t>(std::clamp(rank, 1.0, count)) - 1];
}

LoadResult run_load(const LoadPlan& plan,
                    const std::function<std::unique_ptr<Connection>(int)>& connect) {
  PANDO_CHECK(plan.connections >= 1, "a load of ", plan.connections, " connections");
  return LoadRun(plan, connect).run();
}

}  // namespace pando::request
