// SPDX-License-Identifier: MIT
#include "pando/profile/trace.h"

#include <cstddef>
#include <limits>
#include <new>

#include "pando/base/error.h"

namespace pando::profile {

const char* to_string(EventKind kind) {
  switch (kind) {
    case EventKind::op: return "op";
    case EventKind::phase: return "phase";
    case EventKind::feed_wait: return "feed_wait";
    case EventKind::data_wait: return "data_wait";
    case EventKind::update: return "update";
    case EventKind::prologue: return "prologue";
    case EventKind::barrier_wait: return "barrier_wait";
    case EventKind::host: return "host";
    case EventKind::exchange: return "exchange";
    case EventKind::exchange_wait: return "exchange_wait";
  }
  PANDO_CHECK(false, static_cast<int>(kind));
}

namespace {

// Writes to all the memory here, so that recording causes no page faults.
std::unique_ptr<TraceEvent[]> new_events(const std::string& track, size_t capacity) {
  try {
    // For a size beyond all memory compilers differ: some throw an error, others request the
    // memory.
    constexpr size_t kMost = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(TraceEvent);
    if (capacity > kMost) throw std::bad_array_new_length();
    return std::make_unique<TraceEvent[]>(capacity);
  } catch (const std::bad_alloc&) {
    throw ResourceError("trace: cannot allocate ", capacity, " events for track '", track,
                        "'; record fewer events per track");
  }
}

}  // namespace

TraceTrack::TraceTrack(std::string name, int device, size_t capacity, Clock::time_point start)
    : name_(std::move(name)),
      device_(device),
      capacity_(capacity),
      start_(start),
      events_(new_events(name_, capacity)) {}

Trace::Trace(TraceOptions options) : options_(options) {
  static std::atomic<uint64_t> traces = 0;
  id_ = ++traces;
  if (options_.events_per_track == 0) {
    throw InvalidArgument("trace: expected at least 1 event per track, got 0");
  }
}

TraceTrack& Trace::add_track(const std::string& name, int device) {
  PANDO_CHECK(device >= kHostDevice, "track '", name, "' of device ", device);
  // Made before the lock, so that workers initialise the memory of their tracks in parallel.
  auto track = std::make_unique<TraceTrack>(name, device, options_.events_per_track, start_);
  const std::scoped_lock lock(mutex_);
  return *tracks_.emplace_back(std::move(track));
}

std::vector<const TraceTrack*> Trace::tracks() const {
  const std::scoped_lock lock(mutex_);
  std::vector<const TraceTrack*> tracks;
  for (const auto& track : tracks_) tracks.push_back(track.get());
  return tracks;
}

int32_t Trace::name_id(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  const auto [entry, is_new] = ids_.try_emplace(name, static_cast<int32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return entry->second;
}

const std::string& Trace::name(int32_t id) const {
  const std::scoped_lock lock(mutex_);
  PANDO_CHECK(id >= 0 && static_cast<size_t>(id) < names_.size(), "name ", id, " of ",
              names_.size());
  return names_[static_cast<size_t>(id)];
}

int64_t Trace::dropped() const {
  int64_t dropped = 0;
  for (const TraceTrack* track : tracks()) dropped += track->dropped();
  return dropped;
}

}  // namespace pando::profile
