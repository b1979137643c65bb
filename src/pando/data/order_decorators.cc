// Decorators that select and reorder samples: they translate indices in place.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "pando/base/random.h"
#include "pando/data/decorators.h"
#include "pando/data/recent_orders.h"

namespace pando::data {

namespace {

constexpr int64_t kMostShuffled = int64_t{1} << 40;

class Shuffled : public DataSource {
 public:
  Shuffled(SourcePtr inner, ShuffleOptions options)
      : DataSource(inner->fields(), inner->size()), inner_(std::move(inner)), options_(options) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    const auto order = orders_.of(options_.each_epoch ? epoch : 0, [&](int64_t of_epoch) {
      return random_permutation(size(), mix_keys(options_.seed, static_cast<uint64_t>(of_epoch)));
    });
    for (int64_t& index : indices) index = (*order)[static_cast<size_t>(index)];
    inner_->gather(epoch, indices, rows);
  }

  bool order_varies() const override { return options_.each_epoch || inner_->order_varies(); }

 private:
  SourcePtr inner_;
  ShuffleOptions options_;
  mutable RecentOrders orders_;
};

// Shuffles samples that come one after the other: a group of `buffer` samples is read in order,
// held in memory and handed out in an order of its own. The order of a group is a function of seed,
// epoch and the group's number, so a stream can begin anywhere.
class ShuffledInGroups : public DataSource {
 public:
  ShuffledInGroups(SourcePtr inner, ShuffleOptions options)
      : DataSource(inner->fields(), inner->size()), inner_(std::move(inner)), options_(options) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < indices.size(); ++i) {
      hold(epoch, indices[i] / options_.buffer);
      const auto place = static_cast<size_t>(indices[i] % options_.buffer);
      for (size_t f = 0; f < fields().size(); ++f) {
        const size_t bytes = bytes_per_sample(fields()[f]);
        const std::byte* from = samples_[f].data() + static_cast<size_t>(order_[place]) * bytes;
        std::memcpy(rows.at(f, static_cast<int64_t>(i), bytes), from, bytes);
      }
    }
  }

  bool order_varies() const override { return options_.each_epoch || inner_->order_varies(); }
  bool sequential() const override { return true; }

 private:
  // Reads a group unless it is held. A group that cannot be read is not held.
  void hold(int64_t epoch, int64_t group) const {
    if (epoch == epoch_ && group == group_) return;
    group_ = -1;
    const int64_t first = group * options_.buffer;
    const int64_t count = std::min(options_.buffer, size() - first);
    std::vector<std::byte*> first_bytes;
    samples_.resize(fields().size());
    for (size_t f = 0; f < fields().size(); ++f) {
      samples_[f].resize(static_cast<size_t>(count) * bytes_per_sample(fields()[f]));
      first_bytes.push_back(samples_[f].data());
    }
    std::vector<int64_t> indices(static_cast<size_t>(count));
    std::iota(indices.begin(), indices.end(), first);
    inner_->gather(epoch, indices, Rows(first_bytes));
    const uint64_t of_epoch = options_.each_epoch ? static_cast<uint64_t>(epoch) : 0;
    order_ = random_permutation(
        count, mix_keys(mix_keys(options_.seed, of_epoch), static_cast<uint64_t>(group)));
    epoch_ = epoch;
    group_ = group;
  }

  SourcePtr inner_;
  ShuffleOptions options_;
  mutable std::mutex mutex_;
  mutable int64_t epoch_ = -1;  // of the group that is held, like all below
  mutable int64_t group_ = -1;
  mutable std::vector<std::vector<std::byte>> samples_;  // of each field
  mutable std::vector<int64_t> order_;
};

class Strided : public DataSource {
 public:
  Strided(SourcePtr inner, int64_t first, int64_t step, int64_t size)
      : DataSource(inner->fields(), size), inner_(std::move(inner)), first_(first), step_(step) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    for (int64_t& index : indices) index = first_ + index * step_;
    inner_->gather(epoch, indices, rows);
  }

  bool order_varies() const override { return inner_->order_varies(); }
  bool sequential() const override { return inner_->sequential(); }

 private:
  SourcePtr inner_;
  int64_t first_;
  int64_t step_;
};

class Selected : public DataSource {
 public:
  Selected(SourcePtr inner, std::vector<int64_t> chosen)
      : DataSource(inner->fields(), std::ssize(chosen)),
        inner_(std::move(inner)),
        chosen_(std::move(chosen)) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    for (int64_t& index : indices) index = chosen_[static_cast<size_t>(index)];
    inner_->gather(epoch, indices, rows);
  }

  bool order_varies() const override { return inner_->order_varies(); }
  bool sequential() const override { return inner_->sequential(); }

 private:
  SourcePtr inner_;
  std::vector<int64_t> chosen_;
};

// The end of the run of indices from `begin` on for which `part_of` gives the same value.
template <typename PartOf>
size_t end_of_run(std::span<const int64_t> indices, size_t begin, const PartOf& part_of) {
  size_t end = begin + 1;
  while (end < indices.size() && part_of(indices[end]) == part_of(indices[begin])) ++end;
  return end;
}

// Round r of epoch e is the inner epoch e * times + r, so that every round has its own order.
class Repeated : public DataSource {
 public:
  Repeated(SourcePtr inner, int64_t times, int64_t size)
      : DataSource(inner->fields(), size), inner_(std::move(inner)), times_(times) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    const auto round_of = [&](int64_t index) { return index / inner_->size(); };
    const int64_t first_round = times_ == kEndless ? epoch : epoch * times_;
    for (size_t begin = 0; begin < indices.size();) {
      const size_t end = end_of_run(indices, begin, round_of);
      const int64_t round = round_of(indices[begin]);
      const auto run = indices.subspan(begin, end - begin);
      for (int64_t& index : run) index -= round * inner_->size();
      inner_->gather(first_round + round, run, rows.from(static_cast<int64_t>(begin)));
      begin = end;
    }
  }

  bool order_varies() const override { return inner_->order_varies(); }
  bool sequential() const override { return inner_->sequential(); }

 private:
  SourcePtr inner_;
  int64_t times_;
};

class Concatenated : public DataSource {
 public:
  Concatenated(SourcePtr first, SourcePtr second)
      : DataSource(first->fields(), first->size() + second->size()),
        first_(std::move(first)),
        second_(std::move(second)) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    const auto in_second = [&](int64_t index) { return index >= first_->size(); };
    for (size_t begin = 0; begin < indices.size();) {
      const size_t end = end_of_run(indices, begin, in_second);
      const auto run = indices.subspan(begin, end - begin);
      const bool second = in_second(run[0]);
      if (second) {
        for (int64_t& index : run) index -= first_->size();
      }
      const DataSource& part = second ? *second_ : *first_;
      part.gather(epoch, run, rows.from(static_cast<int64_t>(begin)));
      begin = end;
    }
  }

  bool order_varies() const override { return first_->order_varies() || second_->order_varies(); }
  bool sequential() const override { return first_->sequential() || second_->sequential(); }

 private:
  SourcePtr first_;
  SourcePtr second_;
};

}  // namespace

SourcePtr shuffled(SourcePtr inner, ShuffleOptions options) {
  if (options.buffer < 1 || options.buffer > kMostShuffled) {
    throw InvalidArgument("shuffle: buffer: expected 1 to ", kMostShuffled, ", got ",
                          options.buffer);
  }
  if (inner->sequential()) return std::make_shared<ShuffledInGroups>(std::move(inner), options);
  if (inner->size() > kMostShuffled) {
    throw InvalidArgument("shuffle: ", inner->size(),
                          " samples are too many for one order; shuffle before repeat");
  }
  return std::make_shared<Shuffled>(std::move(inner), options);
}

SourcePtr strided(SourcePtr inner, int64_t first, int64_t step, int64_t size) {
  return std::make_shared<Strided>(std::move(inner), first, step, size);
}

SourcePtr selected(SourcePtr inner, std::vector<int64_t> chosen) {
  return std::make_shared<Selected>(std::move(inner), std::move(chosen));
}

SourcePtr repeated(SourcePtr inner, int64_t times) {
  if (times < 1) throw InvalidArgument("repeat: expected at least 1 time, got ", times);
  const int64_t size = inner->size();
  int64_t total = 0;
  if (size > 0) total = times > kEndless / size ? kEndless : size * times;
  return std::make_shared<Repeated>(std::move(inner), times, total);
}

SourcePtr concatenated(SourcePtr first, SourcePtr second) {
  if (first->fields() != second->fields()) {
    throw InvalidArgument("concat: the fields differ: ", to_string(first->fields()), " and ",
                          to_string(second->fields()));
  }
  if (first->size() > kEndless - second->size()) {
    throw InvalidArgument("concat: ", first->size(), " and ", second->size(),
                          " samples are too many; concatenate before repeat");
  }
  return std::make_shared<Concatenated>(std::move(first), std::move(second));
}

}  // namespace pando::data
