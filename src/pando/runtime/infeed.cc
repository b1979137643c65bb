// SPDX-License-Identifier: MIT
#include "pando/runtime/infeed.h"

#include <algorithm>

#include "pando/base/error.h"

namespace pando::runtime {

InfeedQueue::InfeedQueue(BatchSource source, int capacity)
    : source_(std::move(source)), capacity_(std::max(capacity, 1)) {}

InfeedQueue::Slot* InfeedQueue::find(int64_t number) {
  for (const auto& slot : slots_) {
    if (slot->number == number) return slot.get();
  }
  return nullptr;
}

// Elements in use come on top of the capacity, so the number of slots follows the devices.
InfeedQueue::Slot& InfeedQueue::free_slot() {
  for (const auto& slot : slots_) {
    if (slot->number < 0) return *slot;
  }
  return *slots_.emplace_back(std::make_unique<Slot>());
}

bool InfeedQueue::full() const { return pulled_ - taken_ >= capacity_; }

// Calls the source without the lock, so that others can give back and take meanwhile.
void InfeedQueue::pull(std::unique_lock<std::mutex>& lock) {
  pulling_ = true;
  Slot& slot = free_slot();
  slot.number = pulled_;
  slot.taken = true;  // no caller can take it before it is filled
  Batch batch = std::move(slot.batch);
  bool there = false;
  lock.unlock();
  std::exception_ptr error;
  try {
    there = source_(batch);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  pulling_ = false;
  slot.batch = std::move(batch);
  slot.taken = false;
  if (!there) slot.number = -1;
  if (there) ++pulled_;
  // The error is reported once: the source is not called again before reopen().
  closed_ = closed_ || !there;
  changed_.notify_all();
  if (error != nullptr) std::rethrow_exception(error);
  if (!there) {
    throw InvalidArgument(
        "the data ended after ", pulled_,
        " micro-batches, expected more; the source must deliver as many samples as it declares");
  }
}

InfeedQueue::Slot* InfeedQueue::await(int64_t number, bool beyond_capacity,
                                      std::unique_lock<std::mutex>& lock) {
  while (!closed_) {
    Slot* slot = find(number);
    PANDO_CHECK(slot != nullptr || number >= pulled_, "element ", number, " is gone");
    if (slot != nullptr && !slot->taken) return slot;
    // The requested element may always be pulled; others only if the queue is not full.
    if (pulling_ || (full() && pulled_ != number && !beyond_capacity)) {
      changed_.wait(lock);
    } else {
      pull(lock);
    }
  }
  return nullptr;
}

const Batch* InfeedQueue::take(int64_t number) {
  std::unique_lock lock(mutex_);
  Slot* slot = await(number, false, lock);
  if (slot == nullptr) return nullptr;
  slot->taken = true;
  ++taken_;
  changed_.notify_all();
  return &slot->batch;
}

int64_t InfeedQueue::samples_of(int64_t number) {
  std::unique_lock lock(mutex_);
  const Slot* slot = await(number, true, lock);
  return slot == nullptr ? 0 : slot->batch.valid;
}

void InfeedQueue::give_back(int64_t number) {
  const std::lock_guard lock(mutex_);
  if (Slot* slot = find(number)) slot->number = -1;
  changed_.notify_all();
}

int64_t InfeedQueue::position() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

void InfeedQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void InfeedQueue::reopen() {
  const std::lock_guard lock(mutex_);
  if (!closed_) return;
  closed_ = false;
  for (const auto& slot : slots_) slot->number = -1;
  taken_ = pulled_;
}

}  // namespace pando::runtime
