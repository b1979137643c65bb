// The life of a process in its job: it joins at its start and ends together with the others, or
// ends the others when it fails.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pando/comm/core_share.h"
#include "pando/comm/environment.h"
#include "pando/comm/job.h"
#include "pando/comm/monitor.h"
#include "pando/comm/mpi.h"

namespace pando::comm {

// together: all instances end here with the same code, because they agreed on it or finished all
// their work. alone: only this instance ends.
enum class Ending { together, alone };

// A process has one session, process_session(); tests make their own. Used by one thread, except
// job().
class Session {
 public:
  // How the session finds its launcher and reaches the other instances.
  struct Options {
    Variables variables = process_variable;
    std::function<std::shared_ptr<MpiInstance>()> join = [] { return join_mpi(); };
    // Makes the monitor of the instances; a null monitor does not watch.
    std::function<std::unique_ptr<Monitor>(MpiInstance&)> watch = [](MpiInstance& instance) {
      MonitorOptions options = monitor_options_from_environment();
      options.activity = [&instance] { return instance.activity(); };
      return std::make_unique<Monitor>(instance, options);
    };
    // How the instances of a machine divide its cores.
    std::function<CoreShare(Communicator&)> share_cores = [](Communicator& communicator) {
      return core_share(communicator, usable_cores_text());
    };
  };
  Session();
  explicit Session(Options options);

  // Joins the job if a launcher started this process as one of several; does nothing for a process
  // that is alone. Call it before anything asks for the job; after a success, further calls have no
  // effect. If it throws InvalidArgument, CommError or Unsupported, the process has not joined.
  void join();
  const Job& job() const { return job_; }
  // Says what is wrong if a launcher started this process as one of several and it has not joined
  // them; empty otherwise.
  std::string apart() const;

  // Tells all instances why this one is about to end alone, so that each knows the first cause.
  // Does nothing if there are no others, and from the second call on.
  void report_failure(const std::string& text, FailureKind kind);

  // The line that tells launchers which instance caused a failure that all instances agree on:
  // "pando: instance 1 on hostb (pid 123): text". Empty if there are no others.
  std::string status_line(const std::string& text) const;

  // Call it before this process exits with `code`. Ending::together waits for the others, for up to
  // a minute if the code is not 0. Does not return but ends all instances for Ending::alone, if the
  // others do not end, or if the communicator has failed. Does nothing if there are no others.
  void end(int code, Ending ending);

 private:
  Job make_job(const Launch& launch);
  bool say_goodbye(std::optional<std::chrono::milliseconds> patience);
  void end_together(int code);
  [[noreturn]] void abort(int code);

  Options options_;
  bool decided_ = false;
  Job job_;
  std::shared_ptr<MpiInstance> instance_;  // also in a job of one instance, to be finalized
  std::unique_ptr<Monitor> monitor_;
  bool reported_ = false;
  bool is_first_cause_ = false;
};

// The session of this process. Once joined, it ends by itself if the process exits without having
// called end(): together with code 0, alone with any other code.
Session& process_session();

}  // namespace pando::comm
