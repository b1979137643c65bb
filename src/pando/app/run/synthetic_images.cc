// SPDX-License-Identifier: MIT
#include "pando/app/run/synthetic_images.h"

#include "pando/base/error.h"
#include "pando/base/random.h"

namespace pando::app {

namespace {

constexpr float kMean = 127;
constexpr float kDeviation = 60;

Dataset repeat_to(const Dataset& images, int64_t size) {
  const int64_t times = (size + images.size() - 1) / images.size();
  return images.repeat(times).take(size);
}

}  // namespace

TrainTest synthetic_images(const SyntheticImages& options) {
  std::vector<int64_t> dims = {options.distinct};
  dims.insert(dims.end(), options.shape.begin(), options.shape.end());
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

}  // namespace pando::app
