// Lends working memory to the threads that gather, so that it is allocated once per thread.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace pando::data {

// Safe to use from any thread. A scratch keeps its contents from one lease to the next.
template <typename Scratch>
class ScratchPool {
 public:
  // Gives the scratch back to its pool at the end of the scope.
  class Lease {
   public:
    explicit Lease(ScratchPool& pool) : pool_(pool), scratch_(pool.take()) {}
    ~Lease() { pool_.give_back(std::move(scratch_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Scratch* operator->() { return scratch_.get(); }
    Scratch& operator*() { return *scratch_; }

   private:
    ScratchPool& pool_;
    std::unique_ptr<Scratch> scratch_;
  };

 private:
  std::unique_ptr<Scratch> take() {
    const std::lock_guard lock(mutex_);
    ++lent_;
    free_.reserve(lent_ + free_.size());  // so that giving back cannot throw
    if (free_.empty()) return std::make_unique<Scratch>();
    std::unique_ptr<Scratch> scratch = std::move(free_.back());
    free_.pop_back();
    return scratch;
  }
  void give_back(std::unique_ptr<Scratch> scratch) {
    const std::lock_guard lock(mutex_);
    --lent_;
    free_.push_back(std::move(scratch));
  }

  std::mutex mutex_;
  size_t lent_ = 0;
  std::vector<std::unique_ptr<Scratch>> free_;
};

}  // namespace pando::data
