// Communication between the instances of a job: sets of messages that are prepared once and then
// sent any number of times, without waiting. The collectives are built from them (collectives.h).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace pando::comm {

// One end of a message. The other end has the same tag and size. Messages between two instances
// with the same tag arrive in the order in which they were started.
struct Outgoing {
  int to = 0;
  int tag = 0;
  std::span<const std::byte> bytes;
};
struct Incoming {
  int from = 0;
  int tag = 0;
  std::span<std::byte> bytes;
};

// Messages that are started together. Nothing else may touch their memory between start() and the
// done() that returns true; done() then returns true until the next start(). The destructor ends
// the messages, which may lose those that are in transit. Used by one thread at a time; different
// objects may be used at the same time.
class Messages {
 public:
  virtual ~Messages() = default;
  virtual void start() = 0;
  // Makes progress and returns whether all have arrived. Throws CommError after
  // Communicator::fail().
  virtual bool done() = 0;
};

// One instance's end of a job. Safe to use from several threads.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;  // the index of the instance
  virtual int size() const = 0;  // the number of instances
  // Tags are below kTags; those from kHostTags on are for the collectives of collectives.h.
  static constexpr int kTags = 1 << 15;
  static constexpr int kHostTags = 1 << 14;
  virtual std::unique_ptr<Messages> prepare(std::vector<Outgoing> sent,
                                            std::vector<Incoming> received) = 0;

  // Makes all waits of this instance, now and later, throw a CommError; keeps the first cause.
  void fail(const std::string& cause);
  bool failed() const { return failed_; }
  void check() const;  // throws the CommError after fail()

 private:
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::string cause_;
};

}  // namespace pando::comm
