// SPDX-License-Identifier: MIT
#include "pando/datasets/synthetic_images.h"

#include <algorithm>

#include "pando/base/error.h"
#include "pando/base/memory_limit.h"
#include "pando/base/random.h"
#include "pando/data/sources/imagenet/imagenet.h"
#include "pando/datasets/validation_split.h"

namespace pando {

namespace {

constexpr float kMean = 127;
constexpr float kDeviation = 60;

// More bytes than caches hold: the images come from memory, as real ones do.
constexpr int64_t kManyImageBytes = int64_t{1} << 26;

Dataset repeat_to(const Dataset& images, int64_t size) {
  const int64_t times = (size + images.size() - 1) / images.size();
  return images.repeat(times).take(size);
}

}  // namespace

TrainTest synthetic_images(const SyntheticImages& options) {
  std::vector<int64_t> dims = {options.distinct};
  dims.insert(dims.end(), options.shape.begin(), options.shape.end());
  require_memory("synthetic images", options.distinct * options.shape.elements());
  Tensor x(DType::u8, Shape(dims));
  Tensor y(DType::i32, {options.distinct});
  RandomStream random(mix_keys(options.seed, hash_name("synthetic images")));
  for (uint8_t& pixel : x.u8()) {
    pixel = static_cast<uint8_t>(kMean + kDeviation * random.next_truncated_normal());
  }
  for (int32_t& label : y.i32()) {
    label = static_cast<int32_t>(random.next_below(static_cast<uint64_t>(options.classes)));
  }
  const Dataset images = Dataset::from_tensors(std::move(x), std::move(y));
  return {.train = repeat_to(images, options.train),
          .test = repeat_to(images, options.test),
          .classes = options.classes};
}

TrainingData synthetic_data(const DatasetRecord& record, std::optional<int64_t> distinct,
                            const DataLoadOptions& options) {
  if (!record.preparation) {
    throw InvalidArgument("data set '", record.name, "' has no images, which synthetic data need");
  }
  // A data set without official samples gets the size of ImageNet.
  const bool has_counts = record.train > 0;
  SyntheticImages images{.shape = record.has_views()
                                      ? Shape{options.view_side, options.view_side, record.shape[2]}
                                      : record.shape,
                         .classes = record.classes.value_or(kImagenetClasses),
                         .train = has_counts ? record.train : kImagenetTrain,
                         .test = has_counts ? record.test : kImagenetValidation,
                         .seed = options.seed};
  if (options.validation_split > 0) {
    images.test = datasets::validation_count(images.train, options.validation_split);
    images.train -= images.test;
  }
  images.distinct =
      distinct.value_or(std::max<int64_t>(1, kManyImageBytes / images.shape.elements()));
  images.distinct = std::min(images.distinct, images.train);
  TrainingData data{.sets = synthetic_images(images),
                    .fingerprint = pando::concat("synthetic, ", images.distinct, " images")};
  prepare(data, *record.preparation, options);
  return data;
}

}  // namespace pando
