// SPDX-License-Identifier: MIT
#include "pando/runtime/update/exchange.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "pando/base/clock.h"
#include "pando/base/error.h"
#include "pando/comm/collectives.h"
#include "pando/runtime/machine/back_off.h"
#include "pando/runtime/program/accumulation.h"

namespace pando::runtime {

namespace {

using Clock = std::chrono::steady_clock;

// The layout of a block: flags as numbers, 0 or 1, then counts of gradients, then moments.
constexpr size_t kNotFinite = 0;
constexpr size_t kStop = 1;
constexpr size_t kCounts = 2;
constexpr size_t kMoments = kCounts + std::tuple_size_v<GradientCounts>;

}  // namespace

Exchange::Exchange(BoundProgram& bound, size_t moments)
    : bound_(bound), communicator_(*bound.placement().communicator) {
  const auto instances = static_cast<size_t>(communicator_.size());
  block_ = kMoments + moments;
  report_.resize(instances * block_);
  moments_.resize(instances * moments);
  buckets_.resize(bound.program().memory().buckets.size());
  for (size_t i = 0; i < buckets_.size(); ++i) add_bucket(i);
  const int tag = 2 * static_cast<int>(buckets_.size());
  reporting_ =
      comm::prepare_all_gather(communicator_, std::as_writable_bytes(std::span(report_)), tag);
  bound.set_bucket_hook([this](int bucket) { bucket_done(bucket); });
  bound.set_poll([this] { poll(); });
}

Exchange::~Exchange() {
  bound_.set_bucket_hook(nullptr);
  bound_.set_poll(nullptr);
}

void Exchange::add_bucket(size_t index) {
  const compiler::Bucket& plan = bound_.program().memory().buckets[index];
  const compiler::Operand first{{compiler::Region::gradients, plan.stage, plan.begin}, nullptr};
  Bucket& bucket = buckets_[index];
  const DType type = bound_.gradient_type();
  for (int lane = 0; lane < bound_.lanes(); ++lane) {
    bucket.lanes.push_back({type, bound_.address(first, lane)});
  }
  const size_t elements = (plan.end - plan.begin) / size_of(type);
  bucket.elements = static_cast<int64_t>(elements);
  if (type != DType::f32) bucket.total = std::make_unique<float[]>(elements);
  bucket.sum = std::make_unique<comm::AllReduce>(
      communicator_, std::span(total_of(bucket), elements),
      comm::AllReduceOptions{.tag = 2 * static_cast<int>(index), .wire = bound_.placement().wire});
}

Stored Exchange::total(const compiler::Place& gradient) const {
  const size_t index = bound_.bucket_of(gradient);
  const size_t offset = gradient.offset - bound_.program().memory().buckets[index].begin;
  float* first = total_of(buckets_[index]) + offset / size_of(bound_.gradient_type());
  return {DType::f32, reinterpret_cast<std::byte*>(first)};
}

void Exchange::record(profile::Trace* trace) {
  if (trace == nullptr) {
    track_ = nullptr;
    return;
  }
  if (trace_ != trace->id()) last_track_ = &trace->add_track("network", profile::kHostDevice);
  trace_ = trace->id();
  track_ = last_track_;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    buckets_[i].name = trace->name_id(
        fmt::format("bucket {}, {} KiB", i, (4 * buckets_[i].elements + 1023) / 1024));
  }
}

void Exchange::begin_update(const std::vector<float>& lane_weights) {
  const std::lock_guard lock(mutex_);
  lane_weights_ = lane_weights;
  for (Bucket& bucket : buckets_) bucket.ready = bucket.done = false;
  next_ = 0;
  first_ = 0;
}

// Called by the worker that completed the bucket. The messages of all buckets start in the same
// order on every instance.
void Exchange::bucket_done(int index) {
  Bucket& bucket = buckets_[static_cast<size_t>(index)];
  sum_lanes(bucket.lanes, lane_weights_, bucket.elements, total_of(bucket));
  const std::lock_guard lock(mutex_);
  bucket.ready = true;
  start_ready();
  active_ = true;
}

void Exchange::start_ready() {
  for (; next_ < buckets_.size() && buckets_[next_].ready; ++next_) {
    Bucket& bucket = buckets_[next_];
    if (track_ != nullptr) bucket.begin = track_->now();
    bucket.sum->start();
    figures_.bytes_sent += bucket.sum->bytes_sent();
  }
}

bool Exchange::advance() {
  for (size_t i = first_; i < next_; ++i) {
    Bucket& bucket = buckets_[i];
    if (bucket.done || !bucket.sum->advance()) continue;
    bucket.done = true;
    if (track_ == nullptr) continue;
    track_->add({.begin = bucket.begin,
                 .end = track_->now(),
                 .name = bucket.name,
                 .kind = profile::EventKind::exchange});
  }
  while (first_ < next_ && buckets_[first_].done) ++first_;
  return first_ == next_;
}

void Exchange::poll() {
  if (!active_.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  if (advance()) active_ = false;
}

std::span<double> Exchange::own_moments() {
  const size_t begin = static_cast<size_t>(communicator_.rank()) * block_;
  return std::span(report_).subspan(begin + kMoments, block_ - kMoments);
}

UpdateFlags Exchange::finish(UpdateFlags own) {
  const Clock::time_point begin = Clock::now();
  const std::lock_guard lock(mutex_);
  PANDO_CHECK(next_ == buckets_.size(), "bucket ", next_, " of ", buckets_.size(),
              " is not complete");
  double* block = &report_[static_cast<size_t>(communicator_.rank()) * block_];
  block[kNotFinite] = own.not_finite ? 1 : 0;
  block[kStop] = own.stop ? 1 : 0;
  std::copy(own.counts.begin(), own.counts.end(), block + kCounts);
  reporting_->start();
  figures_.bytes_sent += static_cast<int64_t>(block_ * sizeof(double)) * (communicator_.size() - 1);
  BackOff back_off;
  for (bool done = false; !done;) {
    const bool sums = advance();
    done = reporting_->done() && sums;
    if (!done) back_off.pause();
  }
  active_ = false;
  UpdateFlags all;
  for (size_t i = 0; i < static_cast<size_t>(communicator_.size()); ++i) {
    const double* of = &report_[i * block_];
    all.not_finite = all.not_finite || of[kNotFinite] != 0;
    all.stop = all.stop || of[kStop] != 0;
    for (size_t k = 0; k < all.counts.size(); ++k) all.counts[k] += of[kCounts + k];
    std::copy(of + kMoments, of + block_,
              moments_.begin() + static_cast<std::ptrdiff_t>(i * (block_ - kMoments)));
  }
  figures_.exposed_seconds += seconds_since(begin);
  return all;
}

ExchangeFigures Exchange::take_figures() {
  const std::lock_guard lock(mutex_);
  return std::exchange(figures_, {});
}

}  // namespace pando::runtime
