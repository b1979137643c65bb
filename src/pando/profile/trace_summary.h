// Adds up a trace: how busy each device was, where the time went, how long a visit of a stage took.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "pando/profile/trace.h"

namespace pando::profile {

// Shares are relative to the span of the whole trace. A moment counts once, even if several workers
// of the device were busy. For the host only `seconds` and `tracks` are set.
struct DeviceSummary {
  int device = kHostDevice;
  int tracks = 0;
  std::array<double, kEventKinds> seconds = {};  // per EventKind, added over the tracks
  double busy_seconds = 0;     // in ops (without ops: phases), updates and prologues
  double program_seconds = 0;  // in phases, updates and prologues
  double idle_share = 0;       // 1 - busy_seconds / span
  double program_share = 0;    // program_seconds / span

  double seconds_of(EventKind kind) const { return seconds[static_cast<size_t>(kind)]; }
};

// The phases of one stage and direction.
struct StageSummary {
  int stage = 0;
  bool backward = false;
  int64_t visits = 0;
  double mean_seconds = 0;
};

// The exchange between instances. Exposed: the time in which a device waited for it.
struct ExchangeSummary {
  int64_t buckets = 0;
  double seconds = 0;  // in which at least one bucket was in transit
  double exposed_seconds = 0;
};

struct TraceSummary {
  double span_seconds = 0;   // first begin of a phase to last end of a phase or update, all devices
  double idle_share = 0;     // mean over the devices
  double program_share = 0;  // mean over the devices
  int64_t events = 0;
  int64_t dropped = 0;                 // not included in the figures
  std::vector<DeviceSummary> devices;  // by number; the host, if it has a track, comes first
  std::vector<StageSummary> stages;    // by stage, forward before backward
  ExchangeSummary exchange;
};

TraceSummary summarize(const Trace& trace);

// The summary as aligned tables.
std::string to_text(const TraceSummary& summary);

}  // namespace pando::profile
