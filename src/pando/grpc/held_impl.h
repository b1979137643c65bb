// What requests hold in memory, counted against a limit of all together.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <new>

namespace pando::grpc {

// All requests together hold too much.
struct TooMuchHeld : std::bad_alloc {};

struct HeldLimit {
  int64_t most = 0;
  std::atomic<int64_t> bytes{0};
};

// The share of one request. Used by one thread at a time.
class HeldBytes {
 public:
  explicit HeldBytes(HeldLimit& all) : all_(all) {}
  ~HeldBytes() { release(); }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  // False: there would be too much; then nothing changes.
  bool try_hold(int64_t bytes) noexcept {
    constexpr auto kAnyOrder = std::memory_order_relaxed;
    if (all_.bytes.fetch_add(bytes, kAnyOrder) + bytes > all_.most) {
      all_.bytes.fetch_sub(bytes, kAnyOrder);
      return false;
    }
    own_ += bytes;
    return true;
  }
  void hold(int64_t bytes) {
    if (!try_hold(bytes)) throw TooMuchHeld();
  }
  void give_back(int64_t bytes) noexcept {
    own_ -= bytes;
    all_.bytes.fetch_sub(bytes, std::memory_order_relaxed);
  }
  void release() noexcept {
    if (own_ != 0) give_back(own_);
  }

 private:
  HeldLimit& all_;
  int64_t own_ = 0;
};

}  // namespace pando::grpc
