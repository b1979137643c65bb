// SPDX-License-Identifier: MIT
#include "pando/datasets/synthetic_images.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "pando/base/error.h"
#include "pando/base/memory_limit.h"
#include "pando/base/random.h"
#include "pando/data/sources/imagenet/imagenet.h"
#include "pando/datasets/validation_split.h"

namespace pando {

namespace {

constexpr double kMean = 127;
constexpr double kDeviation = 60;
constexpr double kMostDeviations = 2;  // from the mean

// The pixel for each number of 16 bits, as often as a truncated normal distribution has it. Reading
// an entry is much faster than a logarithm and a cosine.
class PixelTable {
 public:
  PixelTable() {
    const double low = share_below(-kMostDeviations);
    const double all = share_below(kMostDeviations) - low;
    const auto end_of = [&](double pixel) {
      const double deviations = (pixel + 1 - kMean) / kDeviation;
      return (share_below(std::min(deviations, kMostDeviations)) - low) / all;
    };
    double pixel = kMean - kMostDeviations * kDeviation;
    for (size_t i = 0; i < pixels_.size(); ++i) {
      const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(pixels_.size());
      while (end_of(pixel) < place) ++pixel;
      pixels_[i] = static_cast<uint8_t>(pixel);
    }
  }

  void fill(std::span<uint8_t> to, RandomStream& random) const {
    size_t i = 0;
    for (; i + 1 < to.size(); i += 2) {
      const uint32_t word = random.next_word();
      to[i] = pixels_[word & 0xffff];
      to[i + 1] = pixels_[word >> 16];
    }
    if (i < to.size()) to[i] = pixels_[random.next_word() & 0xffff];
  }

 private:
  // Numbers of a standard normal distribution.
  static double share_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

  std::vector<uint8_t> pixels_ = std::vector<uint8_t>(1 << 16);
};

// More bytes than caches hold: the images come from memory, as real ones do.
constexpr int64_t kManyImageBytes = int64_t{1} << 26;

Dataset repeat_to(const Dataset& images, int64_t size) {
  const int64_t times = (size + images.size() - 1) / images.size();
  return images.repeat(times).take(size);
}

Shape with_samples(int64_t samples, const Shape& shape) {
  std::vector<int64_t> dims = {samples};
  dims.insert(dims.end(), shape.begin(), shape.end());
  return Shape(dims);
}

Tensor random_classes(const Shape& shape, int64_t classes, RandomStream& random) {
  Tensor y(DType::i32, shape);
  for (int32_t& label : y.i32()) {
    label = static_cast<int32_t>(random.next_below(static_cast<uint64_t>(classes)));
  }
  return y;
}

// How many samples the sets have, and how many of them differ.
struct SyntheticCounts {
  int64_t train, test, distinct;
};

// A data set without official samples gets the size of ImageNet.
SyntheticCounts counts_of(const DatasetRecord& record, std::optional<int64_t> distinct,
                          int64_t sample_bytes, const DataLoadOptions& options) {
  const bool has_counts = record.train > 0;
  SyntheticCounts counts{
      .train = has_counts ? record.train : kImagenetTrain,
      .test = has_counts ? record.test : kImagenetValidation,
      .distinct = distinct.value_or(std::max<int64_t>(1, kManyImageBytes / sample_bytes))};
  if (options.validation_split > 0) {
    counts.test = datasets::validation_count(counts.train, options.validation_split);
    counts.train -= counts.test;
  }
  counts.distinct = std::min(counts.distinct, counts.train);
  return counts;
}

TrainTest repeated(const Dataset& samples, const SyntheticCounts& counts, int64_t classes) {
  return {.train = repeat_to(samples, counts.train),
          .test = repeat_to(samples, counts.test),
          .classes = classes};
}

Tensor volume_targets(const ZooEntry& model, const Shape& volume, int64_t samples,
                      RandomStream& random) {
  if (model.task != "regression") {
    const Shape places(std::vector<int64_t>(volume.begin(), volume.end() - 1));
    const bool is_mask = model.task == "segmentation";
    return random_classes(with_samples(samples, is_mask ? places : Shape{}), model.outputs, random);
  }
  Tensor y(DType::f32, {samples, model.outputs});
  for (float& target : y.f32()) target = 2 * random.next_uniform() - 1;
  return y;
}

TrainingData synthetic_volumes(const DatasetRecord& record, const SyntheticRequest& request,
                               const DataLoadOptions& options) {
  const int64_t side = options.view_side;
  const Shape volume{side, side, side, request.model.input_shape[3]};
  const auto bytes = volume.elements() * static_cast<int64_t>(sizeof(float));
  const SyntheticCounts counts = counts_of(record, request.distinct, bytes, options);
  require_memory("synthetic volumes", counts.distinct * bytes);
  RandomStream random(mix_keys(options.seed, hash_name("synthetic volumes")));
  Tensor x(DType::f32, with_samples(counts.distinct, volume));
  for (float& value : x.f32()) value = random.next_truncated_normal();
  Tensor y = volume_targets(request.model, volume, counts.distinct, random);
  const Dataset samples = Dataset::from_tensors(std::move(x), std::move(y));
  return {.sets = repeated(samples, counts, request.model.outputs),
          .task = request.model.task,
          .fingerprint = pando::concat("synthetic, ", counts.distinct, " volumes")};
}

}  // namespace

TrainTest synthetic_images(const SyntheticImages& options) {
  const Shape& shape = options.shape;
  require_memory("synthetic images", options.distinct * shape.elements() * (options.masks ? 3 : 1));
  RandomStream random(mix_keys(options.seed, hash_name("synthetic images")));
  Tensor x(DType::u8, with_samples(options.distinct, shape));
  PixelTable().fill(x.u8(), random);
  const Shape label = options.masks ? Shape{shape[0], shape[1]} : Shape{};
  Tensor y = random_classes(with_samples(options.distinct, label), options.classes, random);
  return repeated(Dataset::from_tensors(std::move(x), std::move(y)),
                  {options.train, options.test, options.distinct}, options.classes);
}

TrainingData synthetic_data(const DatasetRecord& record, const SyntheticRequest& request,
                            const DataLoadOptions& options) {
  const ZooEntry& model = request.model;
  if (!record.preparation && model.input_shape.rank() == 4) {
    return synthetic_volumes(record, request, options);
  }
  if (!record.preparation) {
    throw InvalidArgument("data set '", record.name, "' has no images, which synthetic data for ",
                          model.name, " need");
  }
  const Shape shape = record.has_views()
                          ? Shape{options.view_side, options.view_side, record.shape[2]}
                          : record.shape;
  const bool masks = model.task == "segmentation";
  const SyntheticCounts counts = counts_of(record, request.distinct, shape.elements(), options);
  TrainingData data{
      .sets = synthetic_images(
          {.shape = shape,
           .classes = masks ? model.outputs : record.classes.value_or(kImagenetClasses),
           .train = counts.train,
           .test = counts.test,
           .distinct = counts.distinct,
           .seed = options.seed,
           .masks = masks}),
      .task = masks ? "segmentation" : "classification",
      .fingerprint = pando::concat("synthetic 2, ", counts.distinct, " images")};
  prepare(data, *record.preparation, options);
  return data;
}

}  // namespace pando
