// Records what every thread of a run did and when, in memory, until the trace is written
// (chrome_trace.h) or added up (trace_summary.h).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace pando::profile {

enum class EventKind : uint8_t {
  op,             // one call of a kernel, inside a phase
  phase,          // one visit of a stage: its forward or backward part for one micro-batch
  feed_wait,      // the infeed is empty or the outfeed is full
  data_wait,      // another stage has not delivered yet
  update,         // the weight update
  prologue,       // packing of weights before the first phase
  barrier_wait,   // other workers or replicas have not arrived yet
  host,           // work of the host between and beside executions
  exchange,       // one bucket of gradients in transit between instances
  exchange_wait,  // gradients or flags of other instances have not arrived yet
};
inline constexpr size_t kEventKinds = 10;

const char* to_string(EventKind kind);

// The device number of tracks that belong to the host.
inline constexpr int kHostDevice = -1;

// Requires: begin <= end. A number below zero means that the event has none.
struct TraceEvent {
  int64_t begin = 0;  // nanoseconds since the trace began, from TraceTrack::now()
  int64_t end = 0;
  int32_t name = 0;  // from Trace::name_id
  int32_t micro_batch = -1;
  int32_t replica = -1;
  int16_t stage = -1;
  EventKind kind = EventKind::op;
  bool backward = false;
};
static_assert(sizeof(TraceEvent) == 32, "two events per cache line");

struct TraceOptions {
  size_t events_per_track = size_t{1} << 18;  // 32 bytes each, allocated when the track is made
  bool ops = true;                            // false: the runtime does not record single ops
};

// The events of one thread. Only that thread calls add(), which neither locks nor allocates; a full
// track drops later events and counts them. Other threads may read at any time: events() returns
// the events that were complete at the call.
class alignas(64) TraceTrack {
 public:
  using Clock = std::chrono::steady_clock;

  TraceTrack(std::string name, int device, size_t capacity, Clock::time_point start);
  TraceTrack(const TraceTrack&) = delete;
  TraceTrack& operator=(const TraceTrack&) = delete;

  int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count();
  }

  void add(const TraceEvent& event) {
    const size_t size = size_.load(std::memory_order_relaxed);
    if (size == capacity_) [[unlikely]] {
      dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
    events_[size] = event;
    size_.store(size + 1, std::memory_order_release);
  }

  const std::string& name() const { return name_; }
  int device() const { return device_; }
  std::span<const TraceEvent> events() const {
    return {events_.get(), size_.load(std::memory_order_acquire)};
  }
  int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  std::string name_;
  int device_;
  size_t capacity_;
  Clock::time_point start_;
  std::unique_ptr<TraceEvent[]> events_;
  std::atomic<size_t> size_ = 0;
  std::atomic<int64_t> dropped_ = 0;
};

// Owns the tracks and the names of one recording; the clock starts with the constructor. All
// methods may be called by any thread; they lock, so make tracks and names before recording.
class Trace {
 public:
  explicit Trace(TraceOptions options = {});

  const TraceOptions& options() const { return options_; }
  // Unique in this process: a later trace at the same address has another id.
  uint64_t id() const { return id_; }

  // A new track, which lives as long as the trace. `device` is a device number or kHostDevice.
  // Throws ResourceError if its memory cannot be allocated.
  TraceTrack& add_track(const std::string& name, int device);
  // In the order in which they were made.
  std::vector<const TraceTrack*> tracks() const;

  // The number of a name; the same for the same name.
  int32_t name_id(const std::string& name);
  // Requires: `id` came from name_id of this trace.
  const std::string& name(int32_t id) const;

  // The number of events that all tracks have dropped.
  int64_t dropped() const;

  // Samples that the recorded steps processed, without padding.
  void count_samples(int64_t samples) { samples_.fetch_add(samples, std::memory_order_relaxed); }
  int64_t samples() const { return samples_.load(std::memory_order_relaxed); }

 private:
  TraceOptions options_;
  uint64_t id_;
  TraceTrack::Clock::time_point start_ = TraceTrack::Clock::now();
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<TraceTrack>> tracks_;
  std::deque<std::string> names_;  // a deque keeps references valid
  std::unordered_map<std::string, int32_t> ids_;
  std::atomic<int64_t> samples_ = 0;
};

}  // namespace pando::profile
