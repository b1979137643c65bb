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

// together: all instances end here, with the same code, having agreed on it or done all their work.
// alone: this instance gives up whatever the others do.
enum class Ending { together, alone };

// A process has one, process_session(); tests make their own. Used by one thread, except job().
class Session {
 public:
  // Where its process learns of the launcher, and how it reaches the others.
  struct Options {
    Variables variables = process_variable;
    std::function<std::shared_ptr<MpiInstance>()> join = [] { return join_mpi(); };
    // Who watches over the instances; null: nobody.
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

  // Joins the job when a launcher started this process as one of several; a process alone does
  // nothing and pays nothing. To be called before others ask for the job. The first call decides.
  // Throws InvalidArgument, CommError or Unsupported, and will not have joined.
  void join();
  const Job& job() const { return job_; }
  // What is wrong when a launcher started this process as one of several and it did not join them;
  // empty otherwise.
  std::string apart() const;

  // Tells all instances why this one is about to end alone, so that each knows the first cause.
  // Does nothing when there are no others, and from the second time on.
  void report_failure(const std::string& text, FailureKind kind);

  // The line by which launchers know the instance that a failure all agree on comes from:
  // "pando: instance 1 on hostb (pid 123): text". Empty when there are no others.
  std::string status_line(const std::string& text) const;

  // Before this process exits with `code`. Together waits for the others, for up to a minute when
  // the code is not 0. Does not return when it ends alone, when the others do not come or when the
  // communicator has failed: then it ends all instances. Does nothing when there are no others.
  void end(int code, Ending ending);

 private:
  Job make_job(const Launch& launch);
  bool say_goodbye(std::optional<std::chrono::milliseconds> patience);
  void end_together(int code);
  [[noreturn]] void abort(int code);

  Options options_;
  bool decided_ = false;
  Job job_;
  std::shared_ptr<MpiInstance> instance_;  // also of a job of one, to be finalized
  std::unique_ptr<Monitor> monitor_;
  bool reported_ = false;
  bool is_first_cause_ = false;
};

// That of this process. Once joined, it ends by itself when the process exits without having called
// end(): together with code 0, alone with any other.
Session& process_session();

}  // namespace pando::comm
