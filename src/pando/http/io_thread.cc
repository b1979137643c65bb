// SPDX-License-Identifier: MIT
#include <utility>

#include "pando/http/io_thread_impl.h"

namespace pando::http {
namespace {

constexpr std::chrono::milliseconds kSweepInterval{200};

}  // namespace

IoThread::IoThread(int64_t most_connections, AfterReads after_reads)
    : most_connections_(most_connections),
      after_reads_(std::move(after_reads)),
      work_(context_.get_executor()) {}

IoThread::~IoThread() { join(); }

void IoThread::start() {
  wait_to_sweep();
  thread_ = std::thread([this] { run(); });
}

// Connections close themselves when memory runs out. What is thrown in spite of that must end
// neither the process nor the looks at the clock.
void IoThread::run() {
  constexpr std::chrono::milliseconds kPause{10};
  bool is_sweeping = true;
  while (true) {
    try {
      if (!is_sweeping) {
        wait_to_sweep();
        if (after_exception_) after_exception_();
      }
      is_sweeping = true;
      context_.run();
      return;
    } catch (const std::exception&) {
      is_sweeping = false;
      std::this_thread::sleep_for(kPause);
    }
  }
}

void IoThread::join() {
  if (!thread_.joinable()) return;
  dispatch([this] {
    timer_.cancel();
    for (const auto& session : all_sessions()) session->close();
    context_.stop();
  });
  std::vector<std::unique_ptr<Task>> left;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    left.swap(tasks_);
  }
  thread_.join();
  // What was left in the meantime holds connections, which hold this object.
  unflushed_.clear();
  context_.restart();
  context_.poll();
}

std::vector<std::shared_ptr<Session>> IoThread::all_sessions() const {
  std::vector<std::shared_ptr<Session>> all;
  all.reserve(sessions_.size());
  for (const auto& [key, session] : sessions_) all.push_back(session);
  return all;
}

void IoThread::leave(std::unique_ptr<Task> task) {
  const std::lock_guard lock(mutex_);
  if (!stopped_) tasks_.push_back(std::move(task));
}

void IoThread::wake() {
  const std::lock_guard lock(mutex_);
  if (stopped_ || is_woken_ || tasks_.empty()) return;
  try {
    boost::asio::post(context_, [this] { run_tasks(); });
    is_woken_ = true;
  } catch (const std::bad_alloc&) {
    // sweep() runs them.
  }
}

const std::shared_ptr<const std::function<void()>>& IoThread::waker() {
  const std::lock_guard lock(mutex_);
  if (waker_ == nullptr) {
    waker_ = std::make_shared<const std::function<void()>>([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->wake();
    });
  }
  return waker_;
}

void IoThread::run_tasks() {
  std::vector<std::unique_ptr<Task>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
    is_woken_ = false;
  }
  runs_tasks_ = true;
  for (const auto& task : tasks) task->run();
  runs_tasks_ = false;
  flush_all();
}

// What is posted runs after everything that is ready now.
void IoThread::handled_request() {
  if (!after_reads_ || will_run_after_reads_) return;
  will_run_after_reads_ = true;
  try {
    boost::asio::post(context_, [this] { run_after_reads(); });
  } catch (const std::bad_alloc&) {
    has_missed_reads_ = true;  // sweep() makes up for it
  }
}

void IoThread::run_after_reads() {
  will_run_after_reads_ = has_missed_reads_ = false;
  runs_tasks_ = true;
  bool has_more = false;
  try {
    has_more = after_reads_();
  } catch (const std::exception&) {
    has_missed_reads_ = true;
  }
  runs_tasks_ = false;
  flush_all();
  if (has_more) handled_request();
}

void IoThread::flush_later(std::shared_ptr<Session> session) {
  if (unflushed_.empty() && !runs_tasks_) {
    boost::asio::post(context_, [this] { flush_all(); });
  }
  unflushed_.push_back(std::move(session));
}

void IoThread::flush_all() {
  const auto sessions = std::exchange(unflushed_, {});
  for (const auto& session : sessions) session->flush();
}

void IoThread::serve(std::shared_ptr<Session> session, bool has_room) {
  try {
    sessions_.emplace(session.get(), session);
    has_room ? session->start() : session->refuse();
  } catch (const std::exception&) {
    session->close();
  }
}

void IoThread::stop_idle() {
  dispatch([this] {
    for (const auto& session : all_sessions()) session->stop_if_idle();
  });
}

void IoThread::forget(Session* session) { sessions_.erase(session); }

// Below the limit, or by closing the client that has kept the server waiting for longest.
bool IoThread::make_room() {
  if (static_cast<int64_t>(sessions_.size()) < most_connections_) return true;
  std::shared_ptr<Session> slowest;
  for (const auto& [key, session] : sessions_) {
    if (!session->waits_for_client()) continue;
    if (slowest == nullptr || session->since() < slowest->since()) slowest = session;
  }
  if (slowest == nullptr) return false;
  slowest->close();
  return true;
}

void IoThread::sweep() {
  const Clock::time_point now = Clock::now();
  for (const auto& session : all_sessions()) session->check_time(now);
  run_tasks();
  if (has_missed_reads_) run_after_reads();
  wait_to_sweep();
}

void IoThread::wait_to_sweep() {
  timer_.expires_after(kSweepInterval);
  timer_.async_wait([this](ErrorCode error) {
    if (!error) sweep();
  });
}

}  // namespace pando::http
