// The instances of a job watch each other, so that one that dies, stops or throws ends the job
// everywhere with the first cause, instead of leaving the others waiting for ever.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pando/comm/communicator.h"

namespace pando::comm {

struct MonitorOptions {
  std::chrono::milliseconds period{5000};    // between two signs of life
  std::chrono::milliseconds timeout{20000};  // of silence, after which an instance counts as lost
  std::chrono::milliseconds start{30000};    // until all instances have joined
  std::chrono::milliseconds grace{5000};     // for the process to end after a failure
  // How long an instance may neither send nor wait while others wait, before it counts as hanging;
  // 0: no limit.
  std::chrono::milliseconds stall{0};
  // Grows while this instance sends to others or waits for them. Called by the monitor's thread.
  std::function<int64_t()> activity;
  // Whether the monitor ends a process that has not ended in time, with exit code 1.
  bool ends_process = true;
  // Called with the first cause, after Communicator::fail(), by the monitor's thread.
  std::function<void(const std::string& cause)> on_failure;
  // Takes the line that the instance which notices a failure prints, "pando: instance 1 on hostb
  // (pid 123): died: ..."; empty: standard error.
  std::function<void(std::string_view line)> say;
};

// PANDO_HEARTBEAT_PERIOD, PANDO_HEARTBEAT_TIMEOUT and PANDO_STALL_TIMEOUT, in seconds. Throws
// InvalidArgument.
MonitorOptions monitor_options_from_environment();

// own: the instance itself failed; lost_peer: another instance did not answer. If several instances
// report, the first report of kind `own` is the cause.
enum class FailureKind { own, lost_peer };

// One instance's part of the watch: a thread that sleeps until there is something to send or to
// receive, and TCP connections in a star around instance 0. Its owner keeps it until the end of the
// process: if it is destroyed without goodbye(), the others take this instance for dead. The
// functions may be called by any thread.
class Monitor {
 public:
  // All instances construct it together; period, timeout and stall are those of instance 0. Throws
  // CommError if the instances do not find each other. Requires: the communicator outlives it.
  Monitor(Communicator& communicator, const MonitorOptions& options);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // This instance as messages name it: "instance 1 on hostb (pid 123)"; empty for the only
  // instance.
  std::string self() const;

  // Tells all instances that this one fails. Returns the first cause of the job with its instance,
  // which may be another one, after all instances that can be reached have heard it.
  std::string report_failure(const std::string& text, FailureKind kind = FailureKind::own);

  // Ends without failure: waits until all instances have done so. Returns false if some have not
  // within `patience` (no value: no limit); the watch then continues. Throws CommError with the
  // first cause if an instance fails. Afterwards the monitor only checks that this process ends
  // within `timeout`.
  bool goodbye(std::optional<std::chrono::milliseconds> patience = std::nullopt);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;  // null: the only instance
};

}  // namespace pando::comm
