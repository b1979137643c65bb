// SPDX-License-Identifier: MIT
#include "pando/data/sources/generator.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "pando/data/decorators.h"

namespace pando::data {

namespace {

// Several streams may read the data at the same time, for example those of the instances in a test.
// Each stream has its own generator, so that streams do not restart each other.
constexpr size_t kMostRuns = 8;

Generator begun(const GeneratorStart& begin, int64_t pass) {
  Generator generator = begin(pass);
  if (!generator) {
    throw InvalidArgument("from_generator: pass ", pass, ": expected a generator, got none");
  }
  return generator;
}

// A generator on its way through the samples of an epoch.
class GeneratorRun {
 public:
  GeneratorRun(const GeneratorStart& begin, int64_t epoch, bool endless)
      : begin_(begin), epoch_(epoch), endless_(endless), pass_(epoch) {
    generator_ = begun(begin_, pass_);
  }

  // Whether sample `index` of an epoch is still to come.
  bool leads_to(int64_t epoch, int64_t index) const { return epoch == epoch_ && next_ <= index; }
  int64_t next() const { return next_; }

  // Passes over the samples before `index`; nothing if the generator ends before it.
  std::optional<Sample> take(int64_t index) {
    std::optional<Sample> sample;
    do {
      sample = make();
    } while (sample && next_ <= index);
    return sample;
  }

 private:
  std::optional<Sample> make() {
    std::optional<Sample> sample = generator_();
    if (!sample && endless_) {
      generator_ = begun(begin_, ++pass_);
      sample = generator_();
      if (!sample) throw InvalidArgument("from_generator: pass ", pass_, " has no sample");
    }
    if (sample) ++next_;
    return sample;
  }

  const GeneratorStart& begin_;
  int64_t epoch_;
  bool endless_;
  int64_t pass_;
  int64_t next_ = 0;
  Generator generator_;
};

class Generated : public DataSource {
 public:
  Generated(GeneratorStart begin, std::vector<Field> fields, int64_t size, bool passes_differ)
      : DataSource(std::move(fields), size),
        begin_(std::move(begin)),
        passes_differ_(passes_differ) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < indices.size(); ++i) {
      // A run whose generator throws is lost; the next call begins again.
      std::unique_ptr<GeneratorRun> run = take_run(epoch, indices[i]);
      const std::optional<Sample> sample = run->take(indices[i]);
      if (!sample) {
        throw InvalidArgument("from_generator: pass ", epoch, " ended after ", run->next(),
                              " samples, expected ", size(),
                              "; every pass must have as many samples as the first");
      }
      store_sample(*sample, fields(), rows, static_cast<int64_t>(i));
      runs_.push_back(std::move(run));
    }
  }

  bool order_varies() const override { return passes_differ_; }
  bool sequential() const override { return true; }

 private:
  // The run that has the shortest way to the sample, or a new one.
  std::unique_ptr<GeneratorRun> take_run(int64_t epoch, int64_t index) const {
    auto best = runs_.end();
    for (auto run = runs_.begin(); run != runs_.end(); ++run) {
      if (!(*run)->leads_to(epoch, index)) continue;
      if (best == runs_.end() || (*run)->next() > (*best)->next()) best = run;
    }
    if (best == runs_.end()) {
      if (runs_.size() == kMostRuns) runs_.erase(runs_.begin());  // not used for longest
      return std::make_unique<GeneratorRun>(begin_, epoch, size() == kEndless);
    }
    std::unique_ptr<GeneratorRun> run = std::move(*best);
    runs_.erase(best);
    return run;
  }

  const GeneratorStart begin_;
  const bool passes_differ_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<GeneratorRun>> runs_;  // guarded by mutex_
};

}  // namespace

SourcePtr generated(GeneratorStart begin, const GeneratorOptions& options) {
  if (!begin) throw InvalidArgument("from_generator: expected a function, got none");
  if (options.size < 1 && options.size != kCounted) {
    throw InvalidArgument("from_generator: size: expected at least 1, kCounted or kEndless, got ",
                          options.size);
  }
  const Generator first = begun(begin, 0);
  const std::optional<Sample> sample = first();
  if (!sample) throw InvalidArgument("from_generator: pass 0 has no sample");
  int64_t size = options.size;
  if (size == kCounted) {
    for (size = 1; first();) ++size;
  }
  return std::make_shared<Generated>(std::move(begin), fields_of(*sample, {}), size,
                                     options.passes_differ);
}

}  // namespace pando::data
