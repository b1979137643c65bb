// The decorator that keeps samples in memory once they are gathered.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "pando/base/memory_limit.h"
#include "pando/data/decorators.h"

namespace pando::data {

namespace {

// A sample is empty, then claimed by the thread that gathers it, then ready; empty again when
// gathering fails. A thread first fills all samples that it has claimed and only then waits for
// those of others, so that two threads never wait for each other.
class Cached : public DataSource {
 public:
  Cached(SourcePtr inner, int64_t size)
      : DataSource(inner->fields(), size), inner_(std::move(inner)) {
    states_.resize(static_cast<size_t>(size), State::empty);
    for (const Field& field : fields()) {
      // Not zeroed, so that pages are only used when samples arrive.
      memory_.push_back(std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(size) *
                                                                    bytes_per_sample(field)));
    }
  }

  void gather(int64_t, std::span<int64_t> indices, const Rows& rows) const override {
    if (inner_->sequential()) std::call_once(read_, [this] { read_all(); });
    Work work(indices.size());
    while (take(indices, work)) fill(indices, rows, work);
    for (size_t row = 0; row < indices.size(); ++row) {
      if (work[row] == Task::copy) copy(indices[row], rows, row);
    }
  }

 private:
  enum class State : uint8_t { empty, claimed, ready };
  enum class Task : uint8_t { unknown, fill, filled, copy };
  using Work = std::vector<Task>;

  // Samples that come one after the other are read in their own order, even if they are requested
  // in another order.
  void read_all() const {
    std::vector<std::byte*> first_bytes;
    for (const auto& field : memory_) first_bytes.push_back(field.get());
    std::vector<int64_t> indices(states_.size());
    std::iota(indices.begin(), indices.end(), int64_t{0});
    inner_->gather(0, indices, Rows(first_bytes));
    const std::lock_guard lock(mutex_);
    std::ranges::fill(states_, State::ready);
  }

  // Decides what to do with each row. Waits for other threads only if it can claim no sample.
  // Returns false when nothing is left to fill.
  bool take(std::span<const int64_t> indices, Work& work) const {
    std::unique_lock lock(mutex_);
    while (true) {
      bool claimed = false;
      bool waits = false;
      for (size_t row = 0; row < indices.size(); ++row) {
        if (work[row] != Task::unknown) continue;
        State& state = states_[static_cast<size_t>(indices[row])];
        if (state == State::empty) {
          state = State::claimed;
          work[row] = Task::fill;
          claimed = true;
        } else if (state == State::ready) {
          work[row] = Task::copy;
        } else {
          waits = true;
        }
      }
      if (claimed || !waits) return claimed;
      changed_.wait(lock);
    }
  }

  // Gathers the claimed samples into the rows, run by run, and keeps a copy.
  void fill(std::span<const int64_t> indices, const Rows& rows, Work& work) const {
    try {
      for (size_t begin = 0; begin < work.size();) {
        const auto first = work.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto last = std::find_if(first, work.end(), [&](Task t) { return t != *first; });
        const auto end = static_cast<size_t>(last - work.begin());
        if (*first == Task::fill) fill_run(indices.subspan(begin, end - begin), rows, begin);
        begin = end;
      }
    } catch (...) {
      publish(indices, work, State::empty);
      throw;
    }
    publish(indices, work, State::ready);
  }

  void fill_run(std::span<const int64_t> run, const Rows& rows, size_t first_row) const {
    // Always epoch 0: the samples must not depend on when they are first gathered. The inner source
    // may overwrite the indices.
    std::vector<int64_t> scratch(run.begin(), run.end());
    const Rows to = rows.from(static_cast<int64_t>(first_row));
    inner_->gather(0, scratch, to);
    for (size_t f = 0; f < memory_.size(); ++f) {
      const size_t bytes = bytes_per_sample(fields()[f]);
      for (size_t i = 0; i < run.size(); ++i) {
        std::memcpy(kept(f, run[i]), to.at(f, static_cast<int64_t>(i), bytes), bytes);
      }
    }
  }

  void publish(std::span<const int64_t> indices, Work& work, State state) const {
    {
      const std::lock_guard lock(mutex_);
      for (size_t row = 0; row < work.size(); ++row) {
        if (work[row] != Task::fill) continue;
        states_[static_cast<size_t>(indices[row])] = state;
        work[row] = Task::filled;
      }
    }
    changed_.notify_all();
  }

  void copy(int64_t index, const Rows& rows, size_t row) const {
    for (size_t f = 0; f < memory_.size(); ++f) {
      const size_t bytes = bytes_per_sample(fields()[f]);
      std::memcpy(rows.at(f, static_cast<int64_t>(row), bytes), kept(f, index), bytes);
    }
  }

  std::byte* kept(size_t field, int64_t index) const {
    return memory_[field].get() + static_cast<size_t>(index) * bytes_per_sample(fields()[field]);
  }

  SourcePtr inner_;
  mutable std::once_flag read_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;  // the thread that claimed a sample owns it
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::vector<State> states_;  // guarded by mutex_
};

}  // namespace

SourcePtr cached(SourcePtr inner, CacheOptions options) {
  if (inner->order_varies()) {
    throw InvalidArgument(
        "cache: the order of the samples changes from epoch to epoch; cache before shuffle");
  }
  const int64_t size = inner->size();
  if (size == kEndless) throw InvalidArgument("cache: the set has no end; cache before repeat");
  uint64_t each = 0;
  for (const Field& field : inner->fields()) each += bytes_per_sample(field);
  const auto samples = static_cast<uint64_t>(size);
  if (each > 0 && samples > options.most_bytes / each) {
    const double need = static_cast<double>(samples) * static_cast<double>(each);
    throw ResourceError("cache: ", size, " samples of ", with_thousands(static_cast<int64_t>(each)),
                        " bytes need ", human_bytes(need), ", expected at most ",
                        human_bytes(static_cast<double>(options.most_bytes)),
                        " (most_bytes); raise the limit or do not cache");
  }
  require_memory("cache: the samples", static_cast<int64_t>(samples * each));
  return std::make_shared<Cached>(std::move(inner), size);
}

}  // namespace pando::data
