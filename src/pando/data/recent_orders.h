// The orders of the last two epochs, for decorators that permute samples.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace pando::data {

// Safe to call from any thread; an order is computed once, while other threads wait for it. Two are
// kept, since at the end of an epoch some workers are already in the next one.
class RecentOrders {
 public:
  using Order = std::shared_ptr<const std::vector<int64_t>>;

  // The order of an epoch; `make(epoch)` computes it.
  template <typename Make>
  Order of(int64_t epoch, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : recent_) {
      if (entry.order != nullptr && entry.epoch == epoch) return entry.order;
    }
    auto order = std::make_shared<const std::vector<int64_t>>(make(epoch));
    recent_[1] = std::exchange(recent_[0], {epoch, std::move(order)});
    return recent_[0].order;
  }

 private:
  struct Entry {
    int64_t epoch = 0;
    Order order;
  };
  std::mutex mutex_;
  std::array<Entry, 2> recent_;  // guarded by mutex_
};

}  // namespace pando::data
