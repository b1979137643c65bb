// How the instances of a job talk to each other: sets of messages that are prepared once and then
// sent again and again, without waiting. Collectives are made of them (collectives.h).
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

// One end of a message. Its other end has the same tag and size. Messages between two instances
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

// Messages that are started together. Their memory is not touched by others between start() and the
// done() that says true, which it does until the next start(). Ends them when it goes, which may
// lose what is under way. Used by one thread at a time; different ones may be used at once.
class Messages {
 public:
  virtual ~Messages() = default;
  virtual void start() = 0;
  // Makes progress and says whether all have arrived. Throws CommError after Communicator::fail().
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

  // Ends all waits of this instance, now and later, with a CommError; the first cause stays.
  void fail(const std::string& cause);
  bool failed() const { return failed_; }
  void check() const;  // throws the CommError after fail()

 private:
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::string cause_;
};

}  // namespace pando::comm
