// SPDX-License-Identifier: MIT
#include "pando/comm/session.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <utility>

#include <unistd.h>

#include "pando/base/error.h"
#include "pando/base/memory_limit.h"
#include "pando/comm/start_watch.h"

namespace pando::comm {

namespace {

constexpr std::chrono::seconds kPatience{60};
// The instance that failed first ends the others this much earlier than they end it: its exit code
// becomes the job's.
constexpr std::chrono::seconds kHeadStart{1};

void end_at_exit(int status, void* owner) {
  const auto pid = static_cast<pid_t>(reinterpret_cast<intptr_t>(owner));
  if (pid != getpid()) return;  // a forked child is not the instance
  process_session().end(status, status == 0 ? Ending::together : Ending::alone);
}

std::shared_ptr<MpiInstance> join_until_exit() {
  auto instance = join_mpi();
  const intptr_t pid = getpid();
  on_exit(end_at_exit, reinterpret_cast<void*>(pid));  // unlike atexit(), it passes the exit code
  return instance;
}

}  // namespace

Session::Session() : Session(Options()) {}

Session::Session(Options options) : options_(std::move(options)) {}

void Session::join() {
  if (decided_) return;
  const std::optional<Launch> launch = find_launch(options_.variables);
  if (!launch || launch->instances == 1) {
    const Division division = read_division(options_.variables, 1, 0);
    job_.total_replicas = division.total_replicas;
    job_.devices_per_replica = division.devices_per_replica;
  } else {
    job_ = make_job(*launch);
  }
  decided_ = true;
}

std::string Session::apart() const {
  if (decided_) return "";
  const std::optional<Launch> launch = find_launch(options_.variables);
  if (!launch || !launch->instances || *launch->instances == 1) return "";
  return concat(launch->launcher, " started this process as one of ", *launch->instances, " (",
                launch->evidence,
                "), but it has not joined the others and trains a model of its own; to train one "
                "model together, call pando::dist::init() first in main()");
}

Job Session::make_job(const Launch& launch) {
  if (!launch.introduces) {  // MPI would end the process with wrong advice
    throw CommError(launch.launcher, " started this process as one of several (", launch.evidence,
                    ") without a way to find the others; use srun --mpi=pmix (srun --mpi=pmi2 "
                    "for MPICH), or start pando run inside the allocation");
  }
  if (!instance_) {
    try {
      remember_memory_at_start();
      const StartWatch watch(start_watch_from_environment(options_.variables));
      instance_ = options_.join();
    } catch (const Unsupported& error) {
      throw Unsupported(launch.launcher, " started this process as one of several (",
                        launch.evidence, "), but ", error.what());
    }
  }
  const int size = instance_->size();
  if (launch.instances && *launch.instances != size) {
    throw CommError(launch.launcher, " started ", *launch.instances, " processes (",
                    launch.evidence, "), but MPI finds ", size,
                    "; use the launcher of the MPI library that Pando is built with (",
                    mpi_library(),
                    "), with Slurm: srun --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH");
  }
  if (size > 1) monitor_ = options_.watch(*instance_);
  const Division division = read_division(options_.variables, size, instance_->rank());
  Job job;
  if (size > 1) job.communicator = instance_;
  job.local_index = division.local_instance_index.value_or(instance_->local_index());
  job.local_count = instance_->local_count();
  if (size > 1) {
    const CoreShare share = options_.share_cores(*instance_);
    job.core_share = share.index;
    job.core_shares = share.count;
  }
  job.total_replicas = division.total_replicas;
  job.devices_per_replica = division.devices_per_replica;
  return job;
}

void Session::report_failure(const std::string& text, FailureKind kind) {
  if (!monitor_ || reported_) return;
  reported_ = true;
  const std::string first = monitor_->report_failure(text, kind);
  is_first_cause_ = first.starts_with(concat("instance ", instance_->rank(), " "));
}

std::string Session::status_line(const std::string& text) const {
  return monitor_ ? concat("pando: ", monitor_->self(), ": ", text, "\n") : "";
}

void Session::end(int code, Ending ending) {
  if (!instance_) return;
  if (ending == Ending::together && !instance_->failed()) {
    end_together(code);
  } else {
    report_failure(concat("ends with exit code ", code), FailureKind::own);
    abort(code);
  }
  monitor_ = nullptr;
  job_ = Job();
  instance_ = nullptr;
}

// Others may still need the last messages of this instance, so MPI makes progress during the wait.
bool Session::say_goodbye(std::optional<std::chrono::milliseconds> patience) {
  if (!monitor_) return true;
  const auto begin = std::chrono::steady_clock::now();
  while (!monitor_->goodbye(std::chrono::milliseconds(1))) {
    if (patience && std::chrono::steady_clock::now() - begin > *patience) return false;
    instance_->progress();
  }
  return true;
}

void Session::end_together(int code) {
  std::optional<std::chrono::milliseconds> patience;
  if (code != 0) patience = kPatience;
  try {
    if (say_goodbye(patience) && instance_->finalize(patience)) return;
  } catch (const CommError& error) {
    std::cerr << "pando: error: " << error.what() << "\n";
    abort(code);
  }
  std::cerr << "pando: instance " << instance_->rank()
            << " ends, but not all others do; ending them\n";
  report_failure(concat("ends with exit code ", code, ", but not all others do"), FailureKind::own);
  abort(code);
}

void Session::abort(int code) {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  if (monitor_ && !is_first_cause_) std::this_thread::sleep_for(kHeadStart);
  instance_->abort(code == 0 ? EXIT_FAILURE : code);
  std::abort();  // GCC does not see that the line above does not return
}

Session& process_session() {
  // Never destroyed: a forked child that exits does not have the monitor's thread to join.
  static Session& session = *new Session({.join = join_until_exit});
  return session;
}

}  // namespace pando::comm
