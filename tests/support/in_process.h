// Instances that are threads of one process, for tests of communication between instances.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "pando/base/error.h"
#include "pando/comm/communicator.h"

namespace pando::comm {

// Messages that were sent and not yet received.
class PostOffice {
 public:
  void send(int from, const Outgoing& message) {
    const std::lock_guard lock(mutex_);
    waiting_[{from, message.to, message.tag}].emplace_back(message.bytes.begin(),
                                                           message.bytes.end());
  }

  bool receive(const Incoming& message, int to) {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find({message.from, to, message.tag});
    if (found == waiting_.end()) return false;
    const std::vector<std::byte>& first = found->second.front();
    PANDO_CHECK(first.size() == message.bytes.size(), "instance ", message.from, " sent ",
                first.size(), " bytes, instance ", to, " expects ", message.bytes.size());
    if (!first.empty()) std::memcpy(message.bytes.data(), first.data(), first.size());
    found->second.pop_front();
    if (found->second.empty()) waiting_.erase(found);
    return true;
  }

 private:
  std::mutex mutex_;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>> waiting_;
};

class ThreadMessages : public Messages {
 public:
  ThreadMessages(const Communicator& owner, PostOffice& office, std::vector<Outgoing> sent,
                 std::vector<Incoming> received)
      : owner_(owner), office_(office), sent_(std::move(sent)), received_(std::move(received)) {}

  void start() override {
    owner_.check();
    for (const Outgoing& message : sent_) office_.send(owner_.rank(), message);
    arrived_.assign(received_.size(), false);
    missing_ = received_.size();
  }

  bool done() override {
    owner_.check();
    for (size_t i = 0; i < arrived_.size() && missing_ > 0; ++i) {
      if (arrived_[i] || !office_.receive(received_[i], owner_.rank())) continue;
      arrived_[i] = true;
      --missing_;
    }
    return missing_ == 0;
  }

 private:
  const Communicator& owner_;
  PostOffice& office_;
  std::vector<Outgoing> sent_;
  std::vector<Incoming> received_;
  std::vector<bool> arrived_;
  size_t missing_ = 0;
};

class ThreadInstance : public Communicator {
 public:
  ThreadInstance(std::shared_ptr<PostOffice> office, int rank, int size)
      : office_(std::move(office)), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::unique_ptr<Messages> prepare(std::vector<Outgoing> sent,
                                    std::vector<Incoming> received) override {
    return std::make_unique<ThreadMessages>(*this, *office_, std::move(sent), std::move(received));
  }

 private:
  std::shared_ptr<PostOffice> office_;
  int rank_;
  int size_;
};

// One communicator per instance, in order. They may outlive each other.
inline std::vector<std::shared_ptr<Communicator>> in_process_instances(int count) {
  auto office = std::make_shared<PostOffice>();
  std::vector<std::shared_ptr<Communicator>> instances;
  for (int rank = 0; rank < count; ++rank) {
    instances.push_back(std::make_shared<ThreadInstance>(office, rank, count));
  }
  return instances;
}

}  // namespace pando::comm
