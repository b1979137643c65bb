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
  // Of an instance that neither sends nor waits while others do, after which it counts as hanging;
  // 0: it may take as long as it likes.
  std::chrono::milliseconds stall{0};
  // Grows while this instance sends to others or waits for them. Called by the monitor's thread.
  std::function<int64_t()> activity;
  // Whether the monitor ends a process that has not ended in time, with exit code 1.
  bool ends_process = true;
  // Told the first cause, after Communicator::fail(), by the monitor's thread.
  std::function<void(const std::string& cause)> on_failure;
  // Where the one line of whoever notices goes, "pando: instance 1 on hostb (pid 123): died: ...";
  // standard error when empty.
  std::function<void(std::string_view line)> say;
};

// PANDO_HEARTBEAT_PERIOD, PANDO_HEARTBEAT_TIMEOUT and PANDO_STALL_TIMEOUT, in seconds. Throws
// InvalidArgument.
MonitorOptions monitor_options_from_environment();

// How a failure came about: by what the instance itself did, or because another did not answer. Of
// several reports the first of the former kind is the first cause.
enum class FailureKind { own, lost_peer };

// One instance's part of the watch: a thread that sleeps until there is something to send or to
// hear, and TCP connections in a star around instance 0. Its owner keeps it until the end of the
// process: what goes away without goodbye() has died, as the others see it. The functions may be
// called by any thread.
class Monitor {
 public:
  // All instances together; period, timeout and stall are those of instance 0. Throws CommError
  // when the instances do not find each other. Requires: the communicator lives longer.
  Monitor(Communicator& communicator, const MonitorOptions& options);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // This instance as its lines call it: "instance 1 on hostb (pid 123)"; empty for the only one.
  std::string self() const;

  // Tells all that this instance fails. Gives the first cause of the job with its instance, which
  // may be another, once all that can hear of it have.
  std::string report_failure(const std::string& text, FailureKind kind = FailureKind::own);

  // A good end: waits until all instances have come to theirs. False when some have not after
  // `patience` (no value: waits on); then all goes on. Throws CommError with the first cause when
  // one fails. Afterwards nothing is watched but that this process ends in `timeout`.
  bool goodbye(std::optional<std::chrono::milliseconds> patience = std::nullopt);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;  // none: the only instance
};

}  // namespace pando::comm
