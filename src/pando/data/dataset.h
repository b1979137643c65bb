// Data sets as users handle them: made from arrays, functions or files, changed by decorators that
// can be chained, and turned into a stream of batches.
//
//   auto [train, validation] = load_fashion_mnist().train.split(0.1);
//   auto stream = train.shuffle({.seed = 1}).batch(64).repeat(3).prefetch(2);
//   while (auto batch = stream.next()) { ... }
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "pando/data/batch_stream.h"
#include "pando/data/source.h"

namespace pando {

// One sample on its own: a tensor per field.
struct Sample {
  std::vector<Tensor> fields;

  const Tensor& x() const { return tensor_of(fields, 0); }
  const Tensor& y() const { return tensor_of(fields, 1); }
};

struct ShuffleOptions {
  uint64_t seed = 0;
  bool each_epoch = true;  // a new order in every epoch; false: one order for all
  // Samples of a generator are shuffled in groups of this many, which are held in memory: samples 0
  // to buffer - 1 among themselves, and so on. All other data are shuffled as a whole.
  int64_t buffer = 1000;
};

// Makes the next sample; nothing at the end.
using Generator = std::function<std::optional<Sample>()>;
// Begins pass 0, 1, 2, ... over the data. A pass that is begun again must make the same samples.
using GeneratorStart = std::function<Generator(int64_t pass)>;

inline constexpr int64_t kCounted = -1;

struct GeneratorOptions {
  // The number of samples of a pass, the same for every pass. kCounted: from_generator() runs pass
  // 0 to its end to count them. kEndless: nothing is counted, and when a generator ends, the next
  // pass follows without a gap; fit then needs steps_per_epoch.
  int64_t size = kCounted;
  bool passes_differ = false;  // then split() and cache() refuse the data
};

struct CacheOptions {
  uint64_t most_bytes = std::numeric_limits<uint64_t>::max();  // the limit for all samples together
};

struct DatasetSplit;

// A set of samples with random access. A handle: cheap to copy, and copies share the data. No
// method changes the set itself, and all are safe to call from any thread. Functions passed to it
// are called by several threads at once when prefetching with several workers.
class Dataset {
 public:
  explicit Dataset(SourcePtr source);

  // Arrays in memory, one row per sample; move them in to avoid a copy. The fields are "x", "y",
  // "sample_weight". Throws InvalidArgument when the first extents differ.
  static Dataset from_tensors(Tensor x);
  static Dataset from_tensors(Tensor x, Tensor y);
  static Dataset from_tensors(Tensor x, Tensor y, Tensor sample_weight);
  // The same with fields of any names, for networks with several inputs or outputs.
  static Dataset from_fields(std::vector<std::pair<std::string, Tensor>> fields);

  // Samples from a function of the index. The fields ("x", "y", "sample_weight", then "field3" and
  // so on) have the types and shapes of sample 0, and all others must agree.
  static Dataset from_function(int64_t size, std::function<Sample(int64_t index)> make);
  // Like from_function() but without allocation: `fill` writes into a sample of zeros.
  static Dataset generate(int64_t size, std::vector<Field> fields,
                          std::function<void(const SampleView& sample)> fill);

  // Samples that a generator makes one after the other, for data whose size or place is not known
  // before. Epoch e is pass e of the generator. Only one thread at a time calls a generator.
  // Reading at a sample, to resume or for a share of the data, begins the pass and discards what is
  // before it; reading back begins it again. The fields are those of from_function().
  static Dataset from_generator(GeneratorStart begin, GeneratorOptions options = {});

  int64_t size() const { return source_->size(); }
  const std::vector<Field>& fields() const { return source_->fields(); }
  size_t field_index(std::string_view name) const;  // throws InvalidArgument
  const SourcePtr& source() const { return source_; }

  // Samples by index, in the order of `epoch`; gather() writes them into the first rows of
  // `destination`, one tensor per field. Throws InvalidArgument for an index out of range or a
  // tensor that does not fit.
  Sample get(int64_t index, int64_t epoch = 0) const;
  void gather(std::span<const int64_t> indices, std::span<Tensor> destination,
              int64_t epoch = 0) const;

  // All samples in an order that is a pure function of (seed, epoch).
  Dataset shuffle(ShuffleOptions options = {}) const;
  // Samples index, index + count, index + 2 count, ...
  Dataset shard(int64_t count, int64_t index) const;
  // take() gives the first `count` samples, skip() all others; a count above size() means size().
  Dataset take(int64_t count) const;
  Dataset skip(int64_t count) const;
  // The samples with these indices, in this order. Throws InvalidArgument for an index out of
  // range.
  Dataset select(std::vector<int64_t> indices) const;
  // Repeats the whole set `times` times, by default without end; a shuffled set has a new order
  // each time.
  Dataset repeat(int64_t times = kEndless) const;
  // These samples, then those of `other`, which must have the same fields.
  Dataset concat(const Dataset& other) const;
  // Cuts off the last `fraction` of the samples for validation, as Keras does. Throws
  // InvalidArgument when a part would be empty or the order changes from epoch to epoch.
  DatasetSplit split(double fraction) const;

  // Samples changed by a function. The types and shapes of the result are those of sample 0.
  Dataset map(std::function<Sample(Sample sample)> change) const;
  // Like map() but without allocation, in the memory of the batch; types and shapes stay the same.
  // The sample's epoch and index are keys for random augmentations.
  Dataset map_in_place(std::function<void(const SampleView& sample)> change) const;
  // Replaces one field; `change` reads the old field from `from` and writes the new one to `to`,
  // each a sample of that single field.
  using FieldChange = std::function<void(const SampleView& from, const SampleView& to)>;
  Dataset map_field(std::string_view name, Field field, FieldChange change) const;
  // Adds a field at the end; `fill` gets a sample that has only this field, with epoch and index.
  // Throws InvalidArgument if a field has that name already.
  Dataset add_field(Field field, std::function<void(const SampleView& sample)> fill) const;

  // Keeps samples in memory from their first use on: each is read and decoded once. It keeps the
  // samples of epoch 0, so use it before shuffle and random augmentation. Throws InvalidArgument
  // when the order changes from epoch to epoch or the set has no end, ResourceError when all
  // samples together need more than the limit.
  Dataset cache(CacheOptions options = {}) const;

  BatchStream batch(int64_t batch_size, BatchOptions options = {}) const;

 private:
  SourcePtr source_;
};

struct DatasetSplit {
  Dataset train;
  Dataset validation;
};

// The field "y" (i32 or u8, one number) as f32 [classes] with a single 1. A label outside
// [0, classes) is an InvalidArgument when its sample is read.
Dataset one_hot(const Dataset& dataset, int64_t classes);

}  // namespace pando
