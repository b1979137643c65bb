// Small images in the format of CIFAR, for the tests of its files.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "pando/base/random.h"
#include "pando/data/sources/cifar/cifar.h"

namespace pando {

// `count` images of random bytes with consecutive labels.
inline CifarImages random_images(int64_t count, uint64_t key, int32_t classes = 10) {
  CifarImages result{.images = Tensor(DType::u8, {count, 32, 32, 3}),
                     .labels = Tensor(DType::i32, {count}),
                     .coarse_labels = {}};
  RandomStream random(key);
  for (uint8_t& byte : result.images.u8()) byte = static_cast<uint8_t>(random.next_word());
  int32_t label = static_cast<int32_t>(key);
  for (int32_t& each : result.labels.i32()) each = label++ % classes;
  if (classes == 100) {
    result.coarse_labels = Tensor(DType::i32, {count});
    for (int32_t& each : result.coarse_labels.i32()) each = label++ % 20;
  }
  return result;
}

inline CifarFiles random_files(int32_t classes = 10) {
  return {.train = random_images(13, 1, classes), .test = random_images(4, 2, classes)};
}

inline bool same_images(const CifarImages& a, const CifarImages& b) {
  return a.images.shape() == b.images.shape() && std::ranges::equal(a.images.u8(), b.images.u8()) &&
         std::ranges::equal(a.labels.i32(), b.labels.i32()) &&
         (a.coarse_labels.empty()
              ? b.coarse_labels.empty()
              : std::ranges::equal(a.coarse_labels.i32(), b.coarse_labels.i32()));
}

}  // namespace pando
