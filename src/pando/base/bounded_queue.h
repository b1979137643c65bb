// A blocking queue of fixed capacity between threads, used for prefetching and for feeds.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "pando/base/error.h"

namespace pando {

// First in, first out, for any number of producers and consumers; every method may be called from
// any thread. It owns its elements and allocates only in the constructor. Once closed, it accepts
// nothing more, hands out the elements that it holds and then reports its end. fail() closes it
// with an exception that every consumer gets after the elements pushed before it. No thread may
// still be inside a method when the queue is destroyed: close it and join first.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : slots_(capacity) {
    if (capacity == 0) throw InvalidArgument("a bounded queue needs a capacity of at least 1");
  }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Waits while the queue is full. Returns false and drops `value` if the queue is closed.
  bool push(T value) {
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [&] { return closed_ || count_ < slots_.size(); });
    if (closed_) return false;
    append(std::move(value));
    return true;
  }

  // Returns false and leaves `value` untouched if the queue is full or closed.
  bool try_push(T&& value) {
    const std::lock_guard lock(mutex_);
    if (closed_ || count_ == slots_.size()) return false;
    append(std::move(value));
    return true;
  }

  // Waits while the queue is empty. At the end of a closed queue, returns nothing; at the end of a
  // failed one, every call throws the producer's exception.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [&] { return closed_ || count_ > 0; });
    if (count_ > 0) return take_first();
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    return std::nullopt;
  }

  // Returns nothing if the queue is empty; never waits and never throws a producer's exception.
  std::optional<T> try_pop() {
    const std::lock_guard lock(mutex_);
    if (count_ == 0) return std::nullopt;
    return take_first();
  }

  void close() { close_with(nullptr); }

  // Keeps the first of several failures; failing a closed queue has no effect.
  void fail(std::exception_ptr failure) { close_with(std::move(failure)); }

  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  size_t capacity() const { return slots_.size(); }

 private:
  void append(T&& value) {
    slots_[(first_ + count_) % slots_.size()] = std::move(value);
    ++count_;
    not_empty_.notify_one();
  }

  std::optional<T> take_first() {
    std::optional<T> value = std::move(slots_[first_]);
    slots_[first_].reset();
    first_ = (first_ + 1) % slots_.size();
    --count_;
    not_full_.notify_one();
    return value;
  }

  void close_with(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    failure_ = std::move(failure);
    not_full_.notify_all();
    not_empty_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable not_full_;
  std::condition_variable not_empty_;
  std::vector<std::optional<T>> slots_;  // a ring: elements first_ .. first_ + count_ - 1
  size_t first_ = 0;
  size_t count_ = 0;
  bool closed_ = false;
  std::exception_ptr failure_;
};

}  // namespace pando
